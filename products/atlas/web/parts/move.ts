// When a ranking changes, its bars move to their new positions, so that the eye can follow.

import type { Picture } from "./picture";

const DURATION = 350;

/** Stores the bars' positions; returns a function that moves the next picture's bars from there. */
export function moved(old: Picture): ((next: Picture) => void) | undefined {
  if (old.svg.dataset.plot !== "bars") return undefined;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return undefined;
  const places = new Map(old.items.map((item) => [item.element.dataset.key, topOf(item.element)]));
  return (next) => {
    if (next.svg.dataset.chart !== old.svg.dataset.chart) return;
    for (const { element } of next.items) {
      const before = places.get(element.dataset.key);
      const by = before === undefined ? 0 : before - topOf(element);
      if (by === 0) continue;
      const scale = next.height / Math.max(next.svg.clientHeight, 1);
      element.animate([{ transform: `translateY(${by * scale}px)` }, { transform: "none" }], {
        duration: DURATION,
        easing: "ease-out",
      });
    }
  };
}

const topOf = (element: Element) => Math.round(element.getBoundingClientRect().top);
