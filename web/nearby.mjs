// Builds the page of weir-nearby into dist-nearby/: index.html, one script, one style sheet. Their
// names are fixed, as the program names them (products/nearby/build.rs). Fails where it is too large.
import { copyFileSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { here, places } from "./places.mjs";

const page = join(here, "../products/nearby/web");
const dist = join(here, "dist-nearby");

/** Bytes of all of it, compressed by gzip. */
const BUDGET = 20 * 1024;

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const common = {
  ...places,
  outdir: dist,
  bundle: true,
  minify: true,
  legalComments: "none",
  logLevel: "warning",
};
await build({
  ...common,
  entryPoints: [join(page, "page.ts")],
  format: "esm",
  target: ["chrome109", "firefox115", "safari16"],
});
await build({
  ...common,
  entryPoints: [join(page, "page.css")],
  target: ["chrome123", "firefox121"],
});
copyFileSync(join(page, "index.html"), join(dist, "index.html"));

let total = 0;
for (const name of ["index.html", "page.js", "page.css"]) {
  const bytes = readFileSync(join(dist, name));
  const zipped = gzipSync(bytes, { level: 9 }).length;
  total += zipped;
  console.log(`${name}: ${bytes.length} bytes, gzip ${zipped}`);
}
if (total > BUDGET) {
  console.error(`the page is larger than ${BUDGET} bytes compressed: leave something out`);
  process.exit(1);
}
