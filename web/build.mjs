// Builds the page into dist/: one script, one style sheet and a file of texts for each language but
// English, all named by their content so that they may be cached for ever, and index.html, which
// names them. Fails where what a reader loads of it is too large for a router. `node build.mjs MAIN DIRECTORY` builds a page that begins elsewhere, for tests.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { here, places } from "./places.mjs";

const [main = join(here, "src/main.ts"), dist = join(here, "dist")] = process.argv
  .slice(2)
  .map((path) => resolve(path));

/**
 * Bytes of all files of the page together that one reader loads, each compressed by gzip: of the
 * languages, the largest.
 */
const BUDGET = 150 * 1024;

rmSync(dist, { recursive: true, force: true });
mkdirSync(join(dist, "assets"), { recursive: true });

const { metafile } = await build({
  ...places,
  metafile: true,
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

/** A file's name with a hash of what is in it. */
const hashed = (stem, bytes, ending) =>
  `${stem}-${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}.${ending}`;

// Texts: beside each English catalogue that is in the script, those of other languages. They stand
// in a language's file under the word of their module, the frame's under `frame`.
const catalogues = Object.keys(metafile.inputs)
  .filter((path) => /(^|\/)text\/en\.ts$/.test(path))
  .map((path) => join(here, dirname(path)));
const frame = join(here, "src/text");
const place = (folder) =>
  folder === frame
    ? "frame"
    : /\btexts\("(\w+)"/.exec(readFileSync(join(folder, "index.ts"), "utf8"))[1];
const languages = readdirSync(frame)
  .filter((name) => /^[a-z]{2}\.ts$/.test(name) && name !== "en.ts")
  .map((name) => name.slice(0, 2));

/** The texts of a language, by place. What a module has not is English in the page. */
async function textsOf(language) {
  const folders = catalogues.filter((folder) => existsSync(join(folder, `${language}.ts`)));
  const lines = folders.map(
    (folder) =>
      `export { ${language} as ${place(folder)} } from ${JSON.stringify(join(folder, language))};`,
  );
  const { outputFiles } = await build({
    stdin: { contents: lines.join("\n"), resolveDir: here },
    ...places,
    bundle: true,
    write: false,
    format: "esm",
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  return { ...(await import(`data:text/javascript;base64,${code}`)) };
}

const links = [];
for (const language of languages) {
  const bytes = JSON.stringify(await textsOf(language));
  const name = hashed(`text-${language}`, bytes, "json");
  writeFileSync(join(dist, "assets", name), bytes);
  links.push(`<link rel="text" hreflang="${language}" href="/assets/${name}">`);
}

const icon = readFileSync(join(here, "src/icon.svg"));
const iconName = hashed("icon", icon, "svg");
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
  .replace("{icon}", `assets/${iconName}`)
  .replace("{texts}", links.join("\n    "));
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
let largest = 0;
for (const name of files) {
  const bytes = readFileSync(join(dist, name));
  const zipped = gzipSync(bytes, { level: 9 }).length;
  if (/^assets\/text-/.test(name)) largest = Math.max(largest, zipped);
  else total += zipped;
  console.log(
    `${name}: ${bytes.length} bytes, gzip ${zipped}, brotli ${brotliCompressSync(bytes).length}`,
  );
}
total += largest;
console.log(`with one language ${total} bytes of ${BUDGET}, by gzip`);
if (total > BUDGET) {
  console.error(`the page is larger than ${BUDGET} bytes compressed: leave something out`);
  process.exit(1);
}
