/** A point with a name beside it. */
interface Named extends Place {
  readonly name: string;
  /** Kept whatever stands near; it has a ring around its point. */
  readonly isKept: boolean;
  /** Whether it may stand a line above or below its point; one that is kept may stand further off. */
  readonly isMovable?: boolean;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Where a name stands beside its point. */
interface Beside {
  /** 1: it begins right of the point; −1: it ends left of it. */
  readonly side: 1 | -1;
  /** Pixels from the point: to the right, and below it. */
  readonly dx: number;
  readonly dy: number;
}

/** Pixels of a character, of a line, from a point to its name without a ring and with one, of a point's radius, and around all points. */
const character = 6.8;
const line = 14;
const gap = 10;
const ringGap = 16;
const radius = 4;
const padding = 14;

/**
 * Places names beside points so that none covers another name or a point: on either side, higher or lower. Where there is no room, one
 * that must be kept stands where it covers the fewest points, and others are left out.
 * @param points all that the chart shows
 * @param options.ends further places within the range of the chart, such as the ends of intervals
 */
export function legible<Label extends Named>(
  named: readonly Label[],
  points: readonly Place[],
  options: { width: number; height: number; isLogarithmic: boolean; ends?: readonly Place[] },
): (Label & Beside)[] {
  const { width, height, isLogarithmic, ends = [] } = options;
  const across = (x: number) => (isLogarithmic ? Math.log(Math.max(x, 1e-9)) : x);
  const range = (values: readonly number[]) => ({ low: Math.min(...values), high: Math.max(...values) });
  const all = [...points, ...ends];
  const [xs, ys] = [range(all.map(({ x }) => across(x))), range(all.map(({ y }) => y))];
  const pixel = ({ x, y }: Place) => ({
    x: padding + ((across(x) - xs.low) / (xs.high - xs.low || 1)) * (width - 2 * padding),
    y: padding + (1 - (y - ys.low) / (ys.high - ys.low || 1)) * (height - 2 * padding),
  });
  const obstacles = points.map(pixel);
  const boxOf = (label: Label, { side, dx, dy }: Beside): Box => {
    const at = pixel(label);
    const [near, far] = [at.x + dx, at.x + dx + side * label.name.length * character];
    return { left: Math.min(near, far), right: Math.max(near, far), y: at.y + dy };
  };
  const placed: { readonly box: Box; readonly label: Label & Beside }[] = [];
  for (const label of named.toSorted((a, b) => Number(b.isKept) - Number(a.isKept))) {
    const home = pixel(label).x > width / 2 ? -1 : 1;
    const away = label.isKept ? ringGap : gap;
    const besideAt = (side: 1 | -1, lines: number): Beside => ({ side, dx: side * away, dy: lines * line });
    const places = (label.isKept ? manyLines : label.isMovable ? fewLines : [0])
      .flatMap((lines) => [besideAt(home, lines), besideAt(home === 1 ? -1 : 1, lines)])
      .map((beside) => ({ beside, box: boxOf(label, beside) }))
      .filter(({ box }) => box.left >= 0 && box.right <= width && box.y >= line / 2 && box.y <= height - line / 2)
      .filter(({ box }) => placed.every((other) => !overlaps(box, other.box)))
      .map((label) => ({ ...label, covered: obstacles.filter((point) => covers(label.box, point)).length }));
    const best = places.toSorted((a, b) => a.covered - b.covered)[0];
    if (best === undefined || (best.covered > 0 && !label.isKept)) {
      if (!label.isKept) continue;
      const beside = besideAt(home, 0);
      placed.push({ box: boxOf(label, beside), label: { ...label, ...beside } });
    } else placed.push({ box: best.box, label: { ...label, ...best.beside } });
  }
  return placed.map(({ label }) => label);
}

/** How many lines below its point a name may stand, the nearest first. */
const fewLines = [0, -1, 1];
const manyLines = [...fewLines, -2, 2, -3, 3, -4, 4];

interface Box {
  readonly left: number;
  readonly right: number;
  /** The middle of the line. */
  readonly y: number;
}

function overlaps(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && Math.abs(one.y - other.y) < line;
}

function covers({ left, right, y }: Box, point: Place): boolean {
  // The width of a name is rather over- than underestimated.
  return point.x > left && point.x < right && Math.abs(point.y - y) < line / 2 + radius;
}
