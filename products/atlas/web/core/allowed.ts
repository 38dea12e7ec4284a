// Allow list for pictures from elsewhere: everything else is left out.

const ELEMENTS = new Set(
  `svg g a path rect circle ellipse line polyline polygon text tspan title desc defs pattern clipPath
  mask linearGradient radialGradient stop filter feGaussianBlur feColorMatrix feComponentTransfer
  feFuncA feMerge feMergeNode marker`.split(/\s+/),
);

const ATTRIBUTES = new Set(
  `viewBox preserveAspectRatio width height x y x1 x2 y1 y2 dx dy cx cy r rx ry d points transform
  fill fill-opacity fill-rule clip-rule stroke stroke-width stroke-opacity stroke-dasharray stroke-linecap
  stroke-linejoin opacity color font-size font-weight font-family font-variant-numeric font-style
  text-anchor dominant-baseline letter-spacing paint-order clip-path mask filter id class role lang
  gradientUnits gradientTransform offset stop-color stop-opacity patternUnits patternTransform
  patternContentUnits clipPathUnits maskUnits filterUnits stdDeviation in in2 type values tableValues
  result marker-start marker-mid marker-end markerWidth markerHeight refX refY orient markerUnits
  vector-effect pointer-events text-decoration shape-rendering visibility textLength lengthAdjust tabindex title
  color-interpolation-filters mix-blend-mode`.split(/\s+/),
);

/** Largest numbers of nodes and levels of a picture. */
export const MOST_NODES = 40_000;
export const MOST_LEVELS = 24;

export const elementAllowed = (name: string): boolean => ELEMENTS.has(name);

/** True if a value refers only to the picture itself. */
const inside = (value: string) =>
  !/url\s*\(\s*(?!['"]?#)/i.test(value) && !/image-set|@import|expression|\\/i.test(value);

export function attributeAllowed(element: string, name: string, value: string): boolean {
  if (name === "href") return element === "a" && linkAllowed(value);
  return (/^(data|aria)-[a-z-]+$/.test(name) || ATTRIBUTES.has(name)) && inside(value);
}

/** True for a link within the atlas, or by HTTP: no link that runs code. */
export function linkAllowed(value: string): boolean {
  // Browsers skip blanks and control characters before a scheme.
  const plain = value.replace(/[\u0000-\u0020\u007f-\u009f]+/g, "");
  return /^https?:/i.test(plain) || !/^[^/?#]*:/.test(plain);
}
