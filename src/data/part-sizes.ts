import { InputError } from '../errors.ts';

/** The size of a part of a split: a count (an integer), a share of all (below 1), or the rest of the threads. */
export type PartSize = number | 'rest';

/**
 * The number of `total` threads for each part, at least one.
 * @throws InputError for an invalid size, more than one rest, or parts that `total` cannot fill
 */
export function partSizes(parts: Readonly<Record<string, PartSize>>, total: number): Map<string, number> {
  const entries = Object.entries(parts);
  const sizes = new Map(entries.map(([name, size]) => [name, size === 'rest' ? 0 : countOf(name, { size, total })]));
  const resting = entries.flatMap(([name, size]) => (size === 'rest' ? [name] : []));
  if (resting.length > 1)
    throw new InputError(`the parts ${resting.join(' and ')} both take the rest; only one part can`);
  // Shares that add up to 1 may still need too many threads, because each may have been rounded up.
  shrinkRounding(sizes, { parts, total });
  const requested = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const [rest] = resting;
  const needed = requested + (rest === undefined ? 0 : 1);
  if (needed > total)
    throw new InputError(
      `the parts need ${needed} threads (${entries.map(([name, size]) => `${name}: ${size === 'rest' ? 'at least 1' : sizes.get(name)}`).join(', ')}) ` +
        `but there are ${total}; ask for fewer, or give shares such as 0.2`,
    );
  if (rest !== undefined) sizes.set(rest, total - requested);
  const empty = [...sizes].find(([, size]) => size === 0);
  if (empty !== undefined)
    throw new InputError(`the part ${empty[0]} (${parts[empty[0]]}) would be empty: there are ${total} threads`);
  return sizes;
}

function countOf(name: string, { size, total }: { size: number; total: number }): number {
  if (Number.isInteger(size) && size >= 1) return size;
  if (size > 0 && size < 1) return Math.round(size * total);
  throw new InputError(
    `the size of part ${name} must be a count (100), a share below 1 (0.2) or 'rest'; found ${size}`,
  );
}

function shrinkRounding(
  sizes: Map<string, number>,
  options: { parts: Readonly<Record<string, PartSize>>; total: number },
): void {
  const { parts, total } = options;
  const shares = Object.entries(parts).flatMap(([name, size]) => (typeof size === 'number' && size < 1 ? [name] : []));
  const exact = Object.entries(parts).reduce(
    (sum, [, size]) => sum + (size === 'rest' ? 0 : size < 1 ? size * total : size),
    0,
  );
  if (exact > total + 1e-9) return;
  // The part that rounding favoured most gives one back.
  const favour = (name: string) => (sizes.get(name) ?? 0) - Number(parts[name]) * total;
  while ([...sizes.values()].reduce((sum, size) => sum + size, 0) > total) {
    const [most] = shares.sort((a, b) => favour(b) - favour(a));
    sizes.set(most, (sizes.get(most) ?? 0) - 1);
  }
}
