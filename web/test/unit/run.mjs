// Builds the tests, which are in TypeScript, and runs them with node's own runner: those beside
// this file, and those of modules and products.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { here, places } from "../../places.mjs";

const pages = ["modules", "products"]
  .map((kind) => join(here, "..", kind))
  .flatMap((kind) => readdirSync(kind).map((name) => join(kind, name, "web")));
const folders = [join(here, "test/unit"), ...pages.filter((folder) => existsSync(folder))];
const out = join(here, "build/unit");
rmSync(out, { recursive: true, force: true });
const { metafile } = await build({
  ...places,
  metafile: true,
  entryPoints: folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => join(folder, name)),
  ),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "empty" },
  logLevel: "warning",
});
const built = Object.keys(metafile.outputs).map((name) => join(here, name));
const { status } = spawnSync(process.execPath, ["--test", ...built], {
  stdio: "inherit",
  cwd: here,
});
process.exit(status ?? 1);
