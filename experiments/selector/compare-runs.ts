import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import { comparePaired } from '../../src/metrics/bootstrap.ts';
import { type ComparedSystem, pairDecisions, readDecisions } from '../run/decisions-file.ts';
import {
  type SelectorDecision,
  type SelectorTask,
  selectorDecisionSchema,
  selectorName,
  taskClasses,
} from './decisions.ts';
import { type Predictions, selectorMetrics } from './metrics.ts';

export interface SelectorComparison {
  readonly test: string;
  readonly task: SelectorTask;
  readonly items: number;
  /** First minus second, with 95 % interval and two-sided p-value (paired bootstrap over items). */
  readonly metrics: readonly (ReturnType<typeof comparePaired> & { readonly name: string; readonly title: string })[];
}

/**
 * Two systems of selector runs on the items that both decided, for each test set and task.
 * @throws InputError when they share no item, or a folder holds no decisions of the system
 */
export function compareSelectorSystems(
  first: Partial<ComparedSystem> & { folder: string },
  second: Partial<ComparedSystem> & { folder: string },
  options: { seed: number },
): SelectorComparison[] {
  const { first: left, second: right } = pairDecisions(
    [
      { system: selectorName, ...first },
      { system: selectorName, ...second },
    ],
    {
      read: (run) => readDecisions(run, selectorDecisionSchema),
      keyOf: ({ part, test, task, id }) => [part, test, task, id].join('/'),
      items: 'item',
    },
  );
  const pairs = left.map((decision, index) => ({ left: decision, right: right[index] }));
  const tested = pairs.filter(({ left: { part } }) => part === 'test');
  if (tested.length === 0)
    throw new InputError(
      `${first.folder} and ${second.folder} share held-out items only; compare runs with the same tests`,
    );
  return Array.from(groupBy(tested, ({ left: { test, task } }) => `${test}/${task}`).values(), (own) => {
    const [
      {
        left: { test, task },
      },
    ] = own;
    const leftColumns = predictionsOf(
      own.map((pair) => pair.left),
      task,
    );
    const rightColumns = predictionsOf(
      own.map((pair) => pair.right),
      task,
    );
    return {
      test,
      task,
      items: own.length,
      metrics: selectorMetrics.map((metric) => ({
        name: metric.name,
        title: metric.title,
        ...comparePaired({
          items: own.length,
          seed: options.seed,
          first: (items) => metric.of({ ...leftColumns, items }),
          second: (items) => metric.of({ ...rightColumns, items }),
        }),
      })),
    };
  });
}

function predictionsOf(decisions: readonly SelectorDecision[], task: SelectorTask): Predictions {
  return {
    gold: decisions.map(({ gold }) => gold),
    predicted: decisions.map(({ predicted }) => predicted),
    classes: taskClasses[task].length,
  };
}
