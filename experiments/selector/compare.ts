import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems } from '../run/compare-systems.ts';
import { readDecisions } from '../run/decisions-file.ts';
import { selectorDecisionSchema, taskClasses } from './decisions.ts';
import { selectorIntervals } from './scores.ts';

/** Two systems of selector runs on the tests, for each test set and task. */
export function compareSelectors(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  return compareSystems(compared, {
    items: 'item',
    read: ({ path }) => readDecisions(path, selectorDecisionSchema),
    keyOf: ({ part, test, task, id }) => [part, test, task, id].join('/'),
    placeOf: ({ part, test, task }) => (part === 'test' ? { title: `${test}: ${task}`, of: { test, task } } : null),
    intervals: (seeds, { task }) => selectorIntervals({ task, seeds, seed }),
    shown: ({ id, task, gold, predicted }) => ({
      item: id,
      gold: taskClasses[task][gold],
      answer: taskClasses[task][predicted],
    }),
  });
}
