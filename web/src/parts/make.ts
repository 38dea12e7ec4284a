// Elements created without markup: a strict policy allows all of this.

const SVG = "http://www.w3.org/2000/svg";

type Attributes = Readonly<Record<string, string | boolean | undefined>>;

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (typeof value === "string") element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Shapes of icons, 24 by 24. */
const ICONS = {
  closer: "M11 5a6 6 0 1 0 0 12a6 6 0 1 0 0-12M15.5 15.5 20 20M8.5 11h5M11 8.5v5",
  wider: "M11 5a6 6 0 1 0 0 12a6 6 0 1 0 0-12M15.5 15.5 20 20M8.5 11h5",
  back: "M9 6 4 11l5 5M4 11h10a6 6 0 0 1 6 6v1",
  more: "M12 4v10M8 10.5 12 14.5 16 10.5M5 15v4h14v-4",
  play: "M8 5.5 18 12 8 18.5z",
  pause: "M9 6v12M15 6v12",
} as const;

export type Icon = keyof typeof ICONS;

function icon(name: Icon): SVGElement {
  const element = document.createElementNS(SVG, "svg");
  element.setAttribute("viewBox", "0 0 24 24");
  element.setAttribute("aria-hidden", "true");
  element.setAttribute("class", "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  element.append(path);
  return element;
}

/** A button with an icon, and a name for screen readers and as a tooltip. */
export function iconButton(name: Icon, label: string, press: () => void): HTMLButtonElement {
  const button = make("button", { type: "button", class: "tool", "data-icon": name }, icon(name));
  named(button, label);
  button.addEventListener("click", press);
  return button;
}

export function named(button: HTMLElement, label: string) {
  button.setAttribute("aria-label", label);
  button.title = label;
}

export function changeIcon(button: HTMLElement, name: Icon, label: string) {
  if (button.dataset.icon === name) return;
  button.dataset.icon = name;
  button.replaceChildren(icon(name));
  named(button, label);
}
