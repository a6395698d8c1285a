import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import {
  type ComparedFolder,
  type MetricDifference,
  type Paired,
  pairDecisions,
  readDecisions,
} from '../run/decisions-file.ts';
import { type SelectorDecision, type SelectorTask, selectorDecisionSchema } from './decisions.ts';
import { metricIntervals } from './intervals.ts';
import { selectorName } from './system-names.ts';

export interface SelectorComparison {
  readonly test: string;
  readonly task: SelectorTask;
  /** Decisions paired, over all seeds. */
  readonly items: number;
  readonly seeds: number;
  /** First minus second, mean over seeds, with 95 % interval and two-sided p-value: see `metricIntervals`. */
  readonly metrics: readonly MetricDifference[];
}

/**
 * Two systems of selector runs on the items that both decided, for each test set and task.
 * @throws InputError when they share no item, or a folder holds no decisions of the system
 */
export function compareSelectorSystems(
  first: ComparedFolder,
  second: ComparedFolder,
  options: { seed: number },
): SelectorComparison[] {
  const tested = pairedTestDecisions(first, second);
  return Array.from(groupBy(tested, ({ left: { test, task } }) => `${test}/${task}`).values(), (own) => {
    const { test, task } = own[0].left;
    const seeds = Array.from(groupBy(own, ({ run }) => run).values(), (ofSeed) => ({
      first: ofSeed.map(({ left }) => left),
      second: ofSeed.map(({ right }) => right),
    }));
    return {
      test,
      task,
      items: own.length,
      seeds: seeds.length,
      metrics: metricIntervals({ task, seeds, seed: options.seed }).map(({ estimate, ...rest }) => ({
        ...rest,
        difference: estimate,
      })),
    };
  });
}

/** @throws InputError as `compareSelectorSystems` does */
export function pairedTestDecisions(first: ComparedFolder, second: ComparedFolder): Paired<SelectorDecision>[] {
  const pairs = pairDecisions([first, second], {
    system: selectorName,
    read: (run) => readDecisions(run, selectorDecisionSchema),
    keyOf: ({ part, test, task, id }) => [part, test, task, id].join('/'),
    items: 'item',
  });
  const tested = pairs.filter(({ left: { part } }) => part === 'test');
  if (tested.length === 0)
    throw new InputError(
      `${first.folder} and ${second.folder} share held-out items only; compare runs with the same tests`,
    );
  return tested;
}
