// A module of the page is its own folder, and one line of the list.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import test from "node:test";
import { de } from "../sample/sample/text/de";
import { en } from "../sample/sample/text/en";

const source = join(process.cwd(), "src");
const list = join("modules", "index.ts");

/** Builds a page, and returns all of its script and style. */
function built(name: string, main: string): string {
  const directory = join("build", "seam", name);
  execFileSync(process.execPath, ["build.mjs", main, directory]);
  const assets = join(directory, "assets");
  return readdirSync(assets)
    .filter((file) => /\.(js|css|json)$/.test(file))
    .map((file) => readFileSync(join(assets, file), "utf8"))
    .join("\n");
}

test("a module more has its texts, route and style in the page, which has none without it", () => {
  const page = built("page", "src/main.ts");
  const more = built("sample", "test/sample/main.ts");
  // What a builder writes otherwise than it was written is left out.
  const texts = [...Object.values(en), ...Object.values(de)].filter((text) =>
    /^[ -~]+$/.test(text),
  );
  assert.ok(texts.length > 6);
  for (const text of [...texts, '"greeting"', ".greeting{"]) {
    assert.ok(more.includes(text), text);
  }
  for (const text of ["greeting", en["greeting.hello"], de["greeting.hello"]]) {
    assert.ok(!page.includes(text), text);
  }
});

/** Lines of the page that import something below a folder, by the file they are in. */
function importers(folder: string): string[] {
  const files = readdirSync(source, { recursive: true }).map(String);
  return files
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith(join(folder, "/")))
    .flatMap((file) => {
      const text = readFileSync(join(source, file), "utf8");
      return [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)]
        .map(([, path]) => relative(source, join(source, dirname(file), path ?? "")))
        .filter((path) => path === folder || path.startsWith(join(folder, "/")))
        .map(() => file);
    });
}

test("nothing outside its folder names a module but one line of the list", () => {
  const entries = readdirSync(join(source, "modules"), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  assert.ok(names.length >= 3);
  const lines = readFileSync(join(source, list), "utf8").split("\n");
  const exported = lines.filter((line) => line.startsWith("export"));
  assert.equal(exported.length, names.length);
  for (const name of names) {
    assert.deepEqual(importers(join("modules", name)), [list], name);
    assert.equal(lines.filter((line) => line.includes(name)).length, 1, name);
  }
  const main = readFileSync(join("test", "sample", "main.ts"), "utf8").split("\n");
  const code = main.filter((line) => !line.startsWith("//"));
  assert.equal(code.filter((line) => line.includes("sample")).length, 2);
});
