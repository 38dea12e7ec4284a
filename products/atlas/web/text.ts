// The component's own words; all others come with the picture.

const en = {
  tools: "Tools",
  closer: "Zoom in",
  wider: "Zoom out",
  back: "Back to the view before",
  more: "Download and share",
  save: "Save as {kind}",
  address: "Copy the address",
  component: "Copy the code of the component",
  iframe: "Copy the code of an iframe",
  img: "Copy the code of a picture",
  copy: "Copy",
  copied: "Copied.",
  notCopied: "The browser does not allow to copy.",
  saved: "Saved as {name}.",
  notSaved: "This cannot be saved: {why}.",
  points: "Values, by arrow keys",
  shows: "{from} to {to}",
  ctrl: "Ctrl and the wheel zoom in.",
  play: "Play",
  pause: "Pause",
  time: "Time",
  failed: "The chart cannot be loaded: {why}.",
  nothing: "no value",
  answer: "the atlas answers {status}",
  unreachable: "the atlas does not answer",
  noPicture: "what came is no picture",
};

export type Key = keyof typeof en;

const de: Record<Key, string> = {
  tools: "Werkzeuge",
  closer: "Vergrößern",
  wider: "Verkleinern",
  back: "Zurück zur vorigen Ansicht",
  more: "Herunterladen und teilen",
  save: "Als {kind} speichern",
  address: "Adresse kopieren",
  component: "Code der Komponente kopieren",
  iframe: "Code eines iframe kopieren",
  img: "Code eines Bildes kopieren",
  copy: "Kopieren",
  copied: "Kopiert.",
  notCopied: "Der Browser erlaubt das Kopieren nicht.",
  saved: "Als {name} gespeichert.",
  notSaved: "Das lässt sich nicht speichern: {why}.",
  points: "Werte, mit Pfeiltasten",
  shows: "{from} bis {to}",
  ctrl: "Strg und das Rad vergrößern.",
  play: "Abspielen",
  pause: "Anhalten",
  time: "Zeit",
  failed: "Das Diagramm lässt sich nicht laden: {why}.",
  nothing: "kein Wert",
  answer: "der Atlas antwortet {status}",
  unreachable: "der Atlas antwortet nicht",
  noPicture: "was kam, ist kein Bild",
};

export type Language = "en" | "de";
export type Say = (key: Key, values?: Readonly<Record<string, string>>) => string;

export const languageOf = (tag: string | null | undefined): Language =>
  /^de\b/i.test(tag ?? "") ? "de" : "en";

export function says(language: Language): Say {
  const texts = language === "de" ? de : en;
  return (key, values = {}) =>
    texts[key].replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
}
