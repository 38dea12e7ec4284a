// Sanitizes a picture of an atlas: a new picture with only the allowed parts.

import {
  attributeAllowed,
  elementAllowed,
  linkAllowed,
  MOST_LEVELS,
  MOST_NODES,
} from "../core/allowed";

const SVG = "http://www.w3.org/2000/svg";
const XLINK = "http://www.w3.org/1999/xlink";

/** Trusted Types policy for pages that require one. Parsed text is inert. */
interface Policy {
  createHTML(text: string): string;
}

let policy: Policy | undefined;

function trusted(text: string): string {
  const { trustedTypes } = globalThis as {
    trustedTypes?: { createPolicy(name: string, policy: Policy): Policy };
  };
  policy ??= trustedTypes?.createPolicy("weir-chart", { createHTML: (text) => text });
  return policy?.createHTML(text) ?? text;
}

/** Picture in a text; undefined without a picture. */
export function parse(text: string, base: string): SVGSVGElement | undefined {
  const root = new DOMParser().parseFromString(trusted(text), "image/svg+xml").documentElement;
  return clean(root, base);
}

/** A copy of a picture, with links relative to `base`. */
export function clean(source: Element, base: string): SVGSVGElement | undefined {
  if (source.namespaceURI !== SVG || source.localName !== "svg") return undefined;
  let left = MOST_NODES;

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
      if (elementAllowed(child.localName) && level < MOST_LEVELS) to.append(copy(child, level + 1));
    }
    return to;
  };

  return copy(source, 0) as SVGSVGElement;
}

function resolved(link: string, base: string): string {
  try {
    return new URL(link, base).href;
  } catch {
    return "#";
  }
}
