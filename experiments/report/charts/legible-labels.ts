/** A point with a name beside it. */
interface Named {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  /** Kept whatever stands near. */
  readonly isKept: boolean;
}

/** Pixels of a character, of a line, and from a point to its name. */
const character = 6.8;
const line = 14;
export const labelGap = 10;

/**
 * Places names beside points so that none covers another: in the left half to the right of their point, in the right half to the
 * left. One that must be kept moves up or down until there is room; others are left out where there is none.
 * @param points all that the chart shows: they give its range
 * @returns with how many pixels each stands below its point
 */
export function legible<Label extends Named>(
  named: readonly Label[],
  points: readonly { x: number; y: number }[],
  { width, height, isLogarithmic }: { width: number; height: number; isLogarithmic: boolean },
): (Label & { readonly dy: number })[] {
  const across = (x: number) => (isLogarithmic ? Math.log(Math.max(x, 1e-9)) : x);
  const range = (values: readonly number[]) => ({ low: Math.min(...values), high: Math.max(...values) });
  const [xs, ys] = [range(points.map(({ x }) => across(x))), range(points.map(({ y }) => y))];
  const box = ({ name, x, y }: Label, dy: number) => {
    const point = ((across(x) - xs.low) / (xs.high - xs.low || 1)) * width;
    const wide = name.length * character;
    const left = point > width / 2 ? point - labelGap - wide : point + labelGap;
    return { left, right: left + wide, y: (1 - (y - ys.low) / (ys.high - ys.low || 1)) * height + dy };
  };
  const placed: { readonly at: ReturnType<typeof box>; readonly label: Label & { readonly dy: number } }[] = [];
  for (const label of named.toSorted((a, b) => Number(b.isKept) - Number(a.isKept))) {
    const tries = label.isKept ? [0, -1, 1, -2, 2, -3, 3, -4, 4] : [0];
    const free = tries
      .map((lines) => lines * line)
      .find((dy) => {
        const own = box(label, dy);
        return placed.every(({ at }) => own.left >= at.right || at.left >= own.right || Math.abs(own.y - at.y) >= line);
      });
    if (free === undefined && !label.isKept) continue;
    placed.push({ at: box(label, free ?? 0), label: { ...label, dy: free ?? 0 } });
  }
  return placed.map(({ label }) => label);
}
