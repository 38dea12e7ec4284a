import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { plural, t, word } from "../../src/modules/monitor/text";
import { catalogues, choose, fill, language, localeFor } from "../../src/text";

type Catalogue = Readonly<Record<string, string>>;

const source = join(process.cwd(), "src");
/** Folders that have texts: the page's own, and those of modules. */
const modules = readdirSync(join(source, "modules"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** The texts of a folder, in every language. */
async function told(module: string | null): Promise<[string, Catalogue][]> {
  if (module === null) return Object.entries(catalogues);
  // The builder takes in whatever such a name may be.
  const { en } = await import(`../../src/modules/${module}/text/en.ts`);
  const { de } = await import(`../../src/modules/${module}/text/de.ts`);
  return Object.entries({ en, de });
}

/** What is written in a folder, without its texts. */
const written = (folder: string) =>
  readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => /\.tsx?$/.test(name) && !/text[/\\](en|de)\.ts$/.test(name))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");

const placeholders = (text: string) =>
  [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();

for (const module of [null, ...modules]) {
  const place = module ?? "the page";

  test(`every language has every key, with the same values in it: ${place}`, async () => {
    const all = await told(module);
    const en = all[0]?.[1] ?? {};
    assert.ok(Object.keys(en).length > 0);
    for (const [name, catalogue] of all) {
      assert.deepEqual(Object.keys(catalogue).sort(), Object.keys(en).sort(), name);
      for (const [key, text] of Object.entries(catalogue)) {
        assert.notEqual(text.trim(), "", `${name} ${key}`);
        assert.deepEqual(placeholders(text), placeholders(en[key] ?? ""), `${name} ${key}`);
        const shared = module !== null && Object.hasOwn(catalogues.en, key);
        assert.ok(!shared, `${key} is a key of the page's own`);
      }
    }
  });

  test(`every key is used: ${place}`, async () => {
    const used = written(module === null ? source : join(source, "modules", module));
    const unused = Object.keys((await told(module))[0]?.[1] ?? {}).filter((key) => {
      if (used.includes(`"${key}"`)) return false;
      const parts = key.split(".");
      const last = parts.pop() ?? "";
      const stem = parts.join(".");
      // Made of a prefix and a word: t(`prefix.${word}`), word("prefix", …), plural("prefix", …).
      const plurals = (last === "one" || last === "other") && used.includes(`plural("${stem}"`);
      return !(used.includes(`\`${stem}.\${`) || used.includes(`word("${stem}"`) || plurals);
    });
    assert.deepEqual(unused, []);
  });
}

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
