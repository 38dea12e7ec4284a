// Where imports lead to, for sources in the folders of modules and products as well. The compiler
// has the same names in tsconfig.json, which is for it alone.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const here = dirname(fileURLToPath(import.meta.url));

/** Options of esbuild. */
export const places = {
  absWorkingDir: here,
  alias: { "@": join(here, "src"), "@modules": join(here, "../modules") },
  nodePaths: [join(here, "node_modules")],
  tsconfigRaw: {},
};
