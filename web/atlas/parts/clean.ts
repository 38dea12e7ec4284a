// A picture of an atlas, made anew of what may come into the page.

import {
  attributeAllowed,
  elementAllowed,
  linkAllowed,
  MOST_LEVELS,
  MOST_NODES,
  rulesAllowed,
} from "../core/allowed";

const SVG = "http://www.w3.org/2000/svg";
const XLINK = "http://www.w3.org/1999/xlink";

export interface Cleaned {
  readonly svg: SVGSVGElement;
  /** What the picture's own style sheet says, where it asks for nothing from elsewhere. */
  readonly rules: string;
}

/** The picture in a text; nothing where there is none. */
export function parse(text: string, base: string): Cleaned | undefined {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return clean(root, base);
}

/** A copy of a picture, with links as they are seen from `base`. */
export function clean(source: Element, base: string): Cleaned | undefined {
  if (source.namespaceURI !== SVG || source.localName !== "svg") return undefined;
  let left = MOST_NODES;
  const rules: string[] = [];

  const copy = (from: Element, level: number): SVGElement => {
    const to = document.createElementNS(SVG, from.localName);
    for (const { localName, namespaceURI, value } of from.attributes) {
      if (namespaceURI !== null && !(namespaceURI === XLINK && localName === "href")) continue;
      if (!attributeAllowed(from.localName, localName, value)) continue;
      if (localName !== "href") to.setAttribute(localName, value);
      else if (linkAllowed(value)) to.setAttribute("href", resolved(value, base));
    }
    for (const child of from.childNodes) {
      left -= 1;
      if (left < 0) break;
      if (child instanceof Text) to.append(child.data);
      if (!(child instanceof Element) || child.namespaceURI !== SVG) continue;
      if (child.localName === "style") rules.push(child.textContent ?? "");
      else if (elementAllowed(child.localName) && level < MOST_LEVELS)
        to.append(copy(child, level + 1));
    }
    return to;
  };

  const svg = copy(source, 0) as SVGSVGElement;
  return { svg, rules: rules.filter(rulesAllowed).join("\n") };
}

function resolved(link: string, base: string): string {
  try {
    return new URL(link, base).href;
  } catch {
    return "#";
  }
}
