import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { plural, t, word } from "@modules/monitor/web/text";
import { choose, direction, fill, isolated, LANGUAGES, language, learn, localeFor } from "@/text";
import { en as frame } from "@/text/en";

type Catalogue = Readonly<Record<string, string>>;

const pageOf = (module: string) => join("../modules", module, "web");
/** Modules that have views, by their folders. */
const modules = readdirSync("../modules").filter((name) => existsSync(pageOf(name)));

/** The texts of a module, or those of the frame, in every language, English first. */
async function told(module: string | null): Promise<[string, Catalogue][]> {
  const names = Object.keys(LANGUAGES);
  return Promise.all(
    names.map(async (name): Promise<[string, Catalogue]> => {
      // The builder includes all names of this pattern.
      const taken =
        module === null
          ? await import(`../../src/text/${name}.ts`)
          : await import(`../../../modules/${module}/web/text/${name}.ts`);
      return [name, taken[name]];
    }),
  );
}

/** Sources in these folders, without texts and tests. */
const written = (folders: readonly string[]) =>
  folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => /\.tsx?$/.test(name) && !/(text[/\\][a-z]{2}|\.test)\.ts$/.test(name))
        .map((name) => readFileSync(join(folder, name), "utf8")),
    )
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
      // Further plural forms of languages that have them.
      const forms = new Intl.PluralRules(name).resolvedOptions().pluralCategories;
      const more = (key: string) => {
        const [, stem, form] = /^(.*)\.(zero|two|few|many)$/.exec(key) ?? [];
        return forms.includes(form as Intl.LDMLPluralRule) && Object.hasOwn(en, `${stem}.other`);
      };
      const keys = Object.keys(catalogue).filter((key) => Object.hasOwn(en, key) || !more(key));
      assert.deepEqual(keys.sort(), Object.keys(en).sort(), name);
      for (const [key, text] of Object.entries(catalogue)) {
        assert.notEqual(text.trim(), "", `${name} ${key}`);
        const english = en[key] ?? en[key.replace(/[a-z]+$/, "other")] ?? "";
        // The forms for one and two need no number.
        const wanted = placeholders(english);
        const few = /\.(zero|one|two)$/.test(key) && placeholders(text).length === 0;
        if (!few) assert.deepEqual(placeholders(text), wanted, `${name} ${key}`);
        const shared = module !== null && Object.hasOwn(frame, key);
        assert.ok(!shared, `${key} is a key of the page's own`);
      }
    }
  });

  test(`every key is used: ${place}`, async () => {
    const used = written(module === null ? ["src", ...modules.map(pageOf)] : [pageOf(module)]);
    const unused = Object.keys((await told(module))[0]?.[1] ?? {}).filter((key) => {
      if (used.includes(`"${key}"`)) return false;
      const parts = key.split(".");
      const last = parts.pop() ?? "";
      const stem = parts.join(".");
      // Made of a prefix and a word: t(`prefix.${word}`), word("prefix", …), plural("prefix", …).
      // Functions other than `word` may take such a prefix, too.
      const plurals = (last === "one" || last === "other") && used.includes(`plural("${stem}"`);
      return !(used.includes(`\`${stem}.\${`) || used.includes(`("${stem}", `) || plurals);
    });
    assert.deepEqual(unused, []);
  });
}

test("the browser's languages choose, in their order; English where there is none of them", () => {
  assert.equal(choose(["nl-NL", "de-AT", "en"]), "de");
  assert.equal(choose(["nl", "pt-BR", "de"]), "pt");
  assert.equal(choose(["nl"]), "en");
  assert.equal(choose([]), "en");
  assert.equal(choose(["constructor", "__proto__"]), "en");
  assert.equal(localeFor("de", ["en-US", "de-CH"]), "de-CH");
  assert.equal(localeFor("de", ["en-US"]), "de");
  assert.equal(localeFor("ar", ["ar-EG"]), "ar-EG-u-nu-latn");
  assert.equal(direction("ar"), "rtl");
  assert.equal(direction("de"), "ltr");
});

test("what is put in is not looked at again", () => {
  assert.equal(fill("{a} and {b}", { a: "{b}", b: "$&" }), "{b} and $&");
  assert.equal(fill("{constructor}", {}), "{constructor}");
});

test("a value that goes the other way does not turn what is around it", () => {
  assert.equal(isolated("nas.example", "de"), "nas.example");
  assert.equal(isolated("جهاز", "de"), "\u2068جهاز\u2069");
  assert.equal(isolated("nas.example", "ar"), "\u2068nas.example\u2069");
  assert.equal(isolated("1,200", "ar"), "1,200");
  assert.equal(isolated(5, "ar"), 5);
});

test("plural forms and words of the daemon", () => {
  language.set("en");
  assert.equal(plural("dashboard.devices", 1), "1 device active");
  assert.equal(plural("dashboard.devices", 1200), "1,200 devices active");
  assert.equal(word("app", "web"), "Web");
  assert.equal(word("app", "something new"), "something new");
  assert.equal(word("app", "constructor"), "constructor");
  language.set("de");
  assert.equal(t("view.devices"), "Devices", "as long as German was not loaded");
  learn("de", { frame: { "common.name": "Der Name" }, monitor: { "view.devices": "Geräte" } });
  assert.equal(t("view.devices"), "Geräte");
  assert.equal(t("common.name"), "Der Name");
  assert.equal(t("view.conversations"), "Conversations", "what German lacks");
  language.set("ar");
  learn("ar", {
    monitor: { "dashboard.devices.two": "جهازان", "dashboard.devices.other": "{count} جهاز" },
  });
  assert.equal(plural("dashboard.devices", 2), "جهازان");
  assert.equal(plural("dashboard.devices", 100), "100 جهاز");
  language.set("en");
});

test("a module's texts stand under its own word", () => {
  for (const module of modules) {
    const read = (name: string) => readFileSync(join(pageOf(module), name), "utf8");
    const [, id] = /^ {2}id: "(\w+)",$/m.exec(read("index.ts")) ?? [];
    assert.ok(read("text/index.ts").includes(`texts("${id}", en)`), module);
  }
});

test("German says Sie", async () => {
  for (const module of [null, ...modules]) {
    const german = (await told(module)).find(([name]) => name === "de")?.[1] ?? {};
    for (const [key, text] of Object.entries(german)) {
      assert.doesNotMatch(text, /\b(du|dich|dir|dein\w*)\b/i, `${module} ${key}`);
      assert.doesNotMatch(
        text,
        /(^|[.:,] |und |oder )(wähle|schreibe?|starte|gib|nimm|versuche|ändere)(?![a-zäöü])/i,
        `${module} ${key}`,
      );
    }
  }
});
