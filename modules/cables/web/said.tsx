// The router's sentences about a port, in the reader's language if the page knows the sentence.
import { plain } from "@/core/plain";
import { Told } from "@/parts/told";
import { language } from "@/text";
import { templates, translated } from "./core/said";
import { t, word } from "./text";
import { en } from "./text/en";

const ALL = templates(en);

export function Said({ text }: { text: string }) {
  if (language.get() === "en") return <Told text={text} />;
  const own = translated(plain(text, 2000), ALL, {
    say: (key, values) => word("says", key, values),
    within: (what, vlan) => t("within.vlan", { text: what, vlan }),
    role: (key) => word("role", key),
  });
  return own === null ? <Told text={text} /> : <span>{own}</span>;
}
