/** A point with a name beside it. */
interface Named {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** Kept whatever stands near. */
  readonly isKept: boolean;
  /** It stands below its point; the others stand above. */
  readonly isRule: boolean;
}

/** Sizes of a label in pixels: of a character, of a line, and from its point to it. */
const character = 6.4;
const line = 13;
const away = { below: 11, above: -9 } as const;

/** From a point to its label, in pixels. */
export const labelGap = 13;

/**
 * Places names beside points so that none stands on another: in the left half to the right of their point, in the right half to
 * the left. One that must be kept moves up or down until there is room; others are left out where there is none.
 * @param points all that the chart shows, which say how far it reaches
 * @returns with how many pixels each stands below its point
 */
export function legible<Label extends Named>(
  named: readonly Label[],
  points: readonly { x: number; y: number }[],
  { width, height, isLogarithmic }: { width: number; height: number; isLogarithmic: boolean },
): (Label & { readonly dy: number })[] {
  const across = (x: number) => (isLogarithmic ? Math.log(Math.max(x, 1e-9)) : x);
  const reach = (values: readonly number[]) => ({ low: Math.min(...values), high: Math.max(...values) });
  const [xs, ys] = [reach(points.map(({ x }) => across(x))), reach(points.map(({ y }) => y))];
  const middle = (Math.min(...points.map(({ x }) => x)) + Math.max(...points.map(({ x }) => x))) / 2;
  const place = (own: Label, dy: number) => {
    const x = ((across(own.x) - xs.low) / (xs.high - xs.low || 1)) * width;
    const y = (1 - (own.y - ys.low) / (ys.high - ys.low || 1)) * height + dy;
    const wide = own.name.length * character;
    const left = own.x > middle ? x - labelGap - wide : x + labelGap;
    return { left, right: left + wide, y };
  };
  const placed: { readonly box: ReturnType<typeof place>; readonly label: Label & { readonly dy: number } }[] = [];
  for (const own of named.toSorted((a, b) => Number(b.isKept) - Number(a.isKept))) {
    const first = own.isRule ? away.below : away.above;
    const tries = own.isKept ? [0, -1, 1, -2, 2, -3, 3, -4, 4].map((lines) => first + lines * line) : [first];
    const free = tries.find((dy) => {
      const box = place(own, dy);
      return !placed.some(
        ({ box: other }) => box.left < other.right && other.left < box.right && Math.abs(box.y - other.y) < line,
      );
    });
    if (free === undefined && !own.isKept) continue;
    const dy = free ?? first;
    placed.push({ box: place(own, dy), label: { ...own, dy } });
  }
  return placed.map(({ label }) => label);
}
