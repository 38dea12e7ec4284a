// Scale beside a drawing.

/** A round number not below the highest value, and steps to it, by powers of ten. */
export function scale(highest: number): { top: number; steps: number[] } {
  if (!(highest > 0)) return { top: 1, steps: [0] };
  const power = 10 ** Math.floor(Math.log10(highest));
  const step =
    ([0.25, 0.5, 1, 2, 2.5] as const)
      .map((part) => part * power)
      .find((size) => highest / size <= 4) ?? 5 * power;
  const many = Math.ceil(highest / step);
  return { top: many * step, steps: Array.from({ length: many + 1 }, (_, index) => index * step) };
}
