// The component's own words; all others come with the picture.

const en = {
  tools: "Tools",
  closer: "Zoom in",
  wider: "Zoom out",
  back: "Previous view",
  more: "Download and share",
  save: "Save as {kind}",
  address: "Copy the link",
  component: "Copy the component code",
  iframe: "Copy the iframe code",
  img: "Copy the image code",
  copy: "Copy",
  copied: "Copied.",
  notCopied: "The browser does not allow copying.",
  saved: "Saved as {name}.",
  notSaved: "Cannot save this: {why}.",
  points: "Values: use the arrow keys",
  shows: "{from} to {to}",
  ctrl: "Use Ctrl and the mouse wheel to zoom.",
  play: "Play",
  pause: "Pause",
  time: "Time",
  failed: "Cannot load the chart: {why}.",
  nothing: "no value",
  answer: "the atlas answered {status}",
  unreachable: "the atlas does not answer",
  noPicture: "the answer is not a picture",
};

export type Key = keyof typeof en;

const de: Record<Key, string> = {
  tools: "Werkzeuge",
  closer: "Vergrößern",
  wider: "Verkleinern",
  back: "Vorige Ansicht",
  more: "Herunterladen und teilen",
  save: "Als {kind} speichern",
  address: "Link kopieren",
  component: "Code der Komponente kopieren",
  iframe: "iframe-Code kopieren",
  img: "Bild-Code kopieren",
  copy: "Kopieren",
  copied: "Kopiert.",
  notCopied: "Der Browser erlaubt das Kopieren nicht.",
  saved: "Als {name} gespeichert.",
  notSaved: "Das lässt sich nicht speichern: {why}.",
  points: "Werte: mit den Pfeiltasten",
  shows: "{from} bis {to}",
  ctrl: "Zoomen Sie mit Strg und dem Mausrad.",
  play: "Abspielen",
  pause: "Anhalten",
  time: "Zeit",
  failed: "Das Diagramm lässt sich nicht laden: {why}.",
  nothing: "kein Wert",
  answer: "der Atlas antwortete {status}",
  unreachable: "der Atlas antwortet nicht",
  noPicture: "die Antwort ist kein Bild",
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
