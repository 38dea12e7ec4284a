// Entry point of the page.
import { begin } from "./begin";
import * as modules from "./modules";

void begin(modules);
