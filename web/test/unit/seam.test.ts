// A module's part of the page is one folder of the module, and one line of the list.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import test from "node:test";
import { de } from "../sample/sample/text/de";
import { en } from "../sample/sample/text/en";

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
  // Texts that a builder changes are left out.
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

/** Modules that have views, by their folders. */
const names = readdirSync("../modules").filter((name) =>
  existsSync(join("../modules", name, "web")),
);

/** Imports of other modules below a folder: the file, and the module's name. */
function imported(folder: string, own?: string): string[] {
  const files = readdirSync(folder, { recursive: true }).map(String);
  return files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => {
      const place = (path: string) =>
        path.startsWith(".") ? join(folder, dirname(file), path) : path.replace(/^@/, "../");
      const text = readFileSync(join(folder, file), "utf8");
      return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]*)"/g)]
        .map(([, path]) => relative("../modules", place(path ?? "")).split("/")[0] ?? "")
        .filter((name) => names.includes(name) && name !== own)
        .map((name) => `${file}: ${name}`);
    });
}

test("nothing outside its folder names a module but one line of the list", () => {
  assert.ok(names.length >= 3);
  const lines = names.map((name) => `modules.ts: ${name}`);
  assert.deepEqual(imported("src").sort(), lines.sort());
  for (const name of names) assert.deepEqual(imported(join("../modules", name, "web"), name), []);
  const list = readFileSync("src/modules.ts", "utf8").split("\n");
  assert.equal(list.filter((line) => line.startsWith("export")).length, names.length);
  const main = readFileSync(join("test", "sample", "main.ts"), "utf8").split("\n");
  const code = main.filter((line) => !line.startsWith("//"));
  assert.equal(code.filter((line) => line.includes("sample")).length, 2);
});
