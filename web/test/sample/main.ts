// The page with an additional module: proves that a module needs only its own folder and a line in
// the list. Web part of `weir-sample` (tests/sample).
import { begin } from "@/begin";
import * as modules from "@/modules";
import { sample } from "./sample";

void begin({ ...modules, sample });
