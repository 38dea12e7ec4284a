// Builds what the atlas sends to browsers into dist-atlas/: the component for other people's pages,
// the script of its own pages, and their style sheet. Their names are fixed, as other people write
// them into their pages. Fails where the component is too large for a guest.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { here, places } from "./places.mjs";

const pages = join(here, "../products/atlas/web");
const dist = join(here, "dist-atlas");
const target = ["chrome109", "firefox115", "safari16"];

/** Bytes of the component, compressed by gzip. */
const BUDGET = 20 * 1024;

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });

/** The component's style sheet as a text. In a shadow, the root of a page is its host. */
const sheet = {
  name: "sheet",
  setup(plugin) {
    plugin.onLoad({ filter: /component\.css$/ }, async ({ path }) => {
      const { outputFiles } = await build({
        ...places,
        entryPoints: [path],
        bundle: true,
        minify: true,
        write: false,
        target: ["chrome123"],
      });
      const contents = outputFiles[0].text
        .replaceAll(/:root\[data-theme="?(\w+)"?\]/g, ":host([theme=$1])")
        .replaceAll(":root", ":host");
      return { contents, loader: "text" };
    });
  },
};

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
  entryPoints: [join(pages, "weir-chart.ts"), join(pages, "page.ts")],
  format: "esm",
  target,
  plugins: [sheet],
});
await build({
  ...common,
  entryPoints: [join(pages, "atlas.css")],
  target: ["chrome123", "firefox121"],
});

for (const name of ["weir-chart.js", "page.js", "atlas.css"]) {
  const bytes = readFileSync(join(dist, name));
  const zipped = gzipSync(bytes, { level: 9 }).length;
  console.log(`${basename(name)}: ${bytes.length} bytes, gzip ${zipped}`);
  if (name === "weir-chart.js" && zipped > BUDGET) {
    console.error(`${name} is larger than ${BUDGET} bytes compressed: leave something out`);
    process.exit(1);
  }
}
