import { closest } from 'fastest-levenshtein';
import { InputError } from '../errors.ts';
import { Random } from '../tensor/random.ts';
import { groupBy } from './group-by.ts';
import type { ThreadFacts } from './thread-source.ts';

export interface SplitOptions<Part extends string, Held extends string, Of extends ThreadFacts> {
  /** For each part a number of threads (an integer), a share (below 1), or 'rest' (for at most one part). */
  readonly parts: Readonly<Record<Part, PartSize>>;
  readonly seed: number;
  /** The label that each part gets in proportion; null counts as a label. `task.goldLabel` fits. */
  readonly stratifyBy?: ((thread: Of) => number | string | boolean | null) | undefined;
  /** Further parts, each with all threads of the named events. */
  readonly holdOutEvents?: Readonly<Record<Held, readonly string[]>>;
}

/**
 * Disjoint parts of `threads`, each in the order of `threads`. Equal seeds, threads and options give equal parts.
 * @returns the threads of every part by its name
 * @throws InputError for ids that repeat, events that no thread has, or parts that the threads cannot fill
 */
export function splitThreads<Of extends ThreadFacts, Part extends string, Held extends string = never>(
  threads: readonly Of[],
  options: SplitOptions<Part, Held, Of>,
): Record<Part | Held, Of[]> {
  assertUniqueIds(threads);
  const heldOut = holdOut(threads, options);
  if (Object.keys({ ...options.parts, ...heldOut }).length === 0)
    throw new InputError('a split needs at least one part: a name with a count (100), a share (0.8) or rest');
  const held = new Set(Object.values<readonly Of[]>(heldOut).flat());
  const free = threads.filter((thread) => !held.has(thread));
  const sizes = partSizes(options.parts, free.length);
  const random = Random.seeded({ seed: options.seed, purpose: 'split' });
  const assigned = assignThreads(free, { sizes, random, stratifyBy: options.stratifyBy });
  const inPart = (part: string) => threads.filter((thread) => assigned.get(thread) === part);
  return { ...mapRecord(options.parts, (_, part) => inPart(part)), ...heldOut };
}

/**
 * Shuffles each label's threads and spreads them evenly over one line, whose consecutive stretches are the parts. So
 * every part has every label in proportion, up to rounding.
 */
function assignThreads<Of extends ThreadFacts>(
  threads: readonly Of[],
  options: {
    sizes: ReadonlyMap<string, number>;
    random: Random;
    stratifyBy: SplitOptions<string, string, Of>['stratifyBy'];
  },
): Map<Of, string> {
  const strata = groupBy(threads, (thread) => options.stratifyBy?.(thread) ?? null);
  const line = [...strata.values()].flatMap((stratum) => {
    // A random start, instead of ½, leaves rounding to chance, so that no label always loses.
    const start = options.random.uniform();
    return options.random
      .shuffled(stratum)
      .map((thread, index) => ({ thread, position: (index + start) / stratum.length }));
  });
  line.sort((a, b) => a.position - b.position);
  const assigned = new Map<Of, string>();
  let next = 0;
  for (const [part, size] of options.sizes) {
    for (const { thread } of line.slice(next, next + size)) assigned.set(thread, part);
    next += size;
  }
  return assigned;
}

function holdOut<Part extends string, Held extends string, Of extends ThreadFacts>(
  threads: readonly Of[],
  options: SplitOptions<Part, Held, Of>,
): Record<Held, Of[]> {
  const allEvents = new Set(threads.flatMap(({ event }) => event ?? []));
  const partOf = new Map<string, string>();
  return mapRecord(options.holdOutEvents ?? ({} as Record<Held, readonly string[]>), (events, part) => {
    if (Object.hasOwn(options.parts, part))
      throw new InputError(`the part ${part} has both a size and held-out events; it can have one of them`);
    for (const event of events) {
      if (!allEvents.has(event))
        throw new InputError(
          `no thread has the event ${JSON.stringify(event)} held out for ${part}; ` +
            (allEvents.size === 0
              ? 'these threads have no events'
              : `did you mean ${closest(event, [...allEvents])}? Events: ${[...allEvents].join(', ')}`),
        );
      if (partOf.has(event))
        throw new InputError(`the event ${event} is held out for both ${partOf.get(event)} and ${part}`);
      partOf.set(event, part);
    }
    return threads.filter(({ event }) => event !== null && events.includes(event));
  });
}

function assertUniqueIds(threads: readonly ThreadFacts[]): void {
  const ids = new Set<string>();
  for (const { id } of threads) {
    if (ids.has(id))
      throw new InputError(`two threads have the id ${JSON.stringify(id)}; a split could put them on both sides`);
    ids.add(id);
  }
}

export function mapRecord<Key extends string, From, To>(
  record: Readonly<Record<Key, From>>,
  convert: (value: From, key: Key) => To,
): Record<Key, To> {
  const entries = Object.entries<From>(record).map(([key, value]) => [key, convert(value, key as Key)]);
  return Object.fromEntries(entries) as Record<Key, To>;
}

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
        `but there are ${total}; make the parts smaller, or give more threads`,
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
