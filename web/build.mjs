// Builds the page into dist/: one script, one style sheet, both named by their content so that they
// may be cached for ever, and index.html, which names them. Fails where the whole is too large for
// a router. `node build.mjs MAIN DIRECTORY` builds a page that begins elsewhere, for tests.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [main = join(here, "src/main.ts"), dist = join(here, "dist")] = process.argv
  .slice(2)
  .map((path) => resolve(path));

/**
 * Bytes of all files of the page together, each compressed by gzip: what it may take of a router's
 * flash and of its uplink.
 */
const BUDGET = 150 * 1024;

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, "assets"), { recursive: true });

await build({
  absWorkingDir: here,
  entryPoints: { app: main },
  outdir: join(dist, "assets"),
  entryNames: "[name]-[hash]",
  bundle: true,
  format: "esm",
  target: ["chrome109", "firefox115", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});

const icon = readFileSync(join(here, "src/icon.svg"));
const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
writeFileSync(join(dist, "assets", iconName), icon);

const built = readdirSync(join(dist, "assets"));
const named = (ending) => {
  const name = built.find((file) => file.endsWith(ending));
  if (name === undefined) throw new Error(`the build left no ${ending} file`);
  return `assets/${name}`;
};
const index = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("{script}", named(".js"))
  .replace("{style}", named(".css"))
  .replace("{icon}", `assets/${iconName}`);
writeFileSync(join(dist, "index.html"), index);

// What is built in comes with its licence.
const licences = ["preact", "uplot"].map((name) => {
  const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
  return `${name}\n\n${text}\n`;
});
writeFileSync(join(dist, "licences.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));

const files = readdirSync(dist, { recursive: true })
  .map(String)
  .filter((name) => statSync(join(dist, name)).isFile());
let total = 0;
for (const name of files) {
  const bytes = readFileSync(join(dist, name));
  const zipped = gzipSync(bytes, { level: 9 }).length;
  total += zipped;
  console.log(
    `${name}: ${bytes.length} bytes, gzip ${zipped}, brotli ${brotliCompressSync(bytes).length}`,
  );
}
console.log(`together ${total} bytes of ${BUDGET}, by gzip`);
if (total > BUDGET) {
  console.error(`the page is larger than ${BUDGET} bytes compressed: leave something out`);
  process.exit(1);
}
