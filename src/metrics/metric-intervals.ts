import { bootstrapGroups, type Interval } from './bootstrap.ts';

/** A metric over seeds: of one system, or of the first minus the second. */
export interface MetricInterval extends Interval {
  readonly name: string;
  readonly title: string;
  /** Mean over the seeds. */
  readonly estimate: number;
  /** Two-sided p-value of 0. */
  readonly pValue: number;
}

/** Decisions under one seed, and those of a second system on the same items in the same order, to be subtracted. */
export interface SeedDecisions<Decision> {
  readonly first: readonly Decision[];
  readonly second?: readonly Decision[];
}

/**
 * Metrics with 95% intervals: a bootstrap that draws seeds, then the items of each. If two systems are compared, both
 * get the same draws. A metric that is NaN for these decisions is left out.
 * @param options.drawnTogether items that are not independent, such as the replies to one claim; each item alone by
 *   default
 */
export function metricIntervals<Decision, Columns extends object>(options: {
  seeds: readonly SeedDecisions<Decision>[];
  columnsOf: (decisions: readonly Decision[]) => Columns;
  metrics: readonly {
    readonly name: string;
    readonly title: string;
    of(columns: Columns & { items: Int32Array }): number | null;
  }[];
  drawnTogether?: (decisions: readonly Decision[]) => readonly (readonly number[])[];
  /** The item of a decision. If all seeds decided the same items, each sample draws them once for all seeds. */
  itemOf?: ((decision: Decision) => string) | undefined;
  /** The seed of the bootstrap. */
  seed: number;
  resamples?: number;
}): MetricInterval[] {
  const { seeds, columnsOf, metrics, seed, itemOf, resamples = 2000 } = options;
  const groups = seeds.map(({ first, second }) => ({
    drawn: options.drawnTogether?.(first) ?? null,
    count: first.length,
    left: columnsOf(first),
    right: second === undefined ? null : columnsOf(second),
  }));
  const valuesOf = (group: number, places: Int32Array, of: typeof metrics) => {
    const { drawn, left, right } = groups[group];
    const items = drawn === null ? places : joinItems(places, drawn);
    const first = { ...left, items };
    const second = right && { ...right, items };
    return of.map(
      (metric) => (metric.of(first) ?? Number.NaN) - (second === null ? 0 : (metric.of(second) ?? Number.NaN)),
    );
  };
  const sizes = groups.map(({ drawn, count }) => drawn?.length ?? count);
  const whole = sizes.map((size, group) =>
    valuesOf(
      group,
      Int32Array.from({ length: size }, (_, place) => place),
      metrics,
    ),
  );
  const defined = metrics.filter((_, index) => whole.every((values) => !Number.isNaN(values[index])));
  if (defined.length === 0) return [];
  const intervals = bootstrapGroups({
    groups: sizes,
    sameItems:
      itemOf !== undefined && haveSameItems(seeds.map(({ first }) => first.map((decision) => itemOf(decision)))),
    seed,
    resamples,
    statistics: (group, places) => valuesOf(group, places, defined),
    scoreRange: (index) => (!scoreNames.has(defined[index].name) ? null : groups[0].right === null ? [0, 1] : [-1, 1]),
  });
  return defined.map(({ name, title }, index) => ({ name, title, ...intervals[index] }));
}

/** Whether all lists have the same items in the same order. */
export function haveSameItems(lists: readonly (readonly string[])[]): boolean {
  const [first] = lists;
  return lists.every((list) => list.length === first.length && list.every((item, index) => item === first[index]));
}

/** Metrics that are shares of right items. */
const scoreNames: ReadonlySet<string> = new Set(['macroF1', 'accuracy']);

/** The items at the drawn places, one after the other. */
function joinItems(places: Int32Array, drawn: readonly (readonly number[])[]): Int32Array {
  let count = 0;
  for (let place = 0; place < places.length; place++) count += drawn[places[place]].length;
  const items = new Int32Array(count);
  let next = 0;
  for (let place = 0; place < places.length; place++) {
    const members = drawn[places[place]];
    for (let index = 0; index < members.length; index++) items[next++] = members[index];
  }
  return items;
}
