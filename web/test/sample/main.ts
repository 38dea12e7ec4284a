// The page with one module more than it has: the proof that a module needs nothing but its own
// folder and a line in the list. It is the page's part of `weir-sample` (tests/sample).
import { begin } from "@/begin";
import * as modules from "@/modules";
import { sample } from "./sample";

void begin({ ...modules, sample });
