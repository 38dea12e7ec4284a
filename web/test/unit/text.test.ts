import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import {
  catalogues,
  choose,
  fill,
  type Key,
  language,
  localeFor,
  plural,
  t,
  word,
} from "../../src/text";

const placeholders = (text: string) =>
  [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

test("every language has every key, with the same values in it", () => {
  for (const [name, catalogue] of Object.entries(catalogues)) {
    assert.deepEqual(Object.keys(catalogue).sort(), Object.keys(catalogues.en).sort(), name);
    for (const [key, text] of Object.entries(catalogue)) {
      assert.notEqual(text.trim(), "", `${name} ${key}`);
      assert.deepEqual(
        placeholders(text),
        placeholders(catalogues.en[key as Key]),
        `${name} ${key}`,
      );
    }
  }
});

test("every key is used", () => {
  const root = join(process.cwd(), "src");
  const source = readdirSync(root, { recursive: true })
    .map(String)
    .filter((name) => /\.tsx?$/.test(name) && !/text[/\\](en|de)\.ts$/.test(name))
    .map((name) => readFileSync(join(root, name), "utf8"))
    .join("\n");
  const unused = Object.keys(catalogues.en).filter((key) => {
    if (source.includes(`"${key}"`)) return false;
    const parts = key.split(".");
    const last = parts.pop() ?? "";
    const stem = parts.join(".");
    // Made of a prefix and a word: t(`prefix.${word}`), word("prefix", …), plural("prefix", …).
    const plurals = (last === "one" || last === "other") && source.includes(`plural("${stem}"`);
    return !(source.includes(`\`${stem}.\${`) || source.includes(`word("${stem}"`) || plurals);
  });
  assert.deepEqual(unused, []);
});

test("the browser's languages choose, in their order; English where there is none of them", () => {
  assert.equal(choose(["fr-FR", "de-AT", "en"]), "de");
  assert.equal(choose(["fr"]), "en");
  assert.equal(choose([]), "en");
  assert.equal(choose(["constructor", "__proto__"]), "en");
  assert.equal(localeFor("de", ["en-US", "de-CH"]), "de-CH");
  assert.equal(localeFor("de", ["en-US"]), "de");
});

test("what is put in is not looked at again", () => {
  assert.equal(fill("{a} and {b}", { a: "{b}", b: "$&" }), "{b} and $&");
  assert.equal(fill("{constructor}", {}), "{constructor}");
});

test("plural forms and words of the daemon", () => {
  language.set("en");
  assert.equal(plural("dashboard.devices", 1), "1 device active");
  assert.equal(plural("dashboard.devices", 1200), "1,200 devices active");
  assert.equal(word("app", "web"), "Web");
  assert.equal(word("app", "something new"), "something new");
  assert.equal(word("app", "constructor"), "constructor");
  language.set("de");
  assert.equal(t("view.devices"), "Geräte");
  language.set("en");
});
