// Where the page begins.
import { begin } from "./begin";
import * as modules from "./modules";

void begin(modules);
