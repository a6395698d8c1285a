import { type Chart, category, palette, quantity, silent, told } from '../../report/page/chart.ts';
import { type SelectorTask, selectorTasks } from '../decisions.ts';
import type { LastSelectionItem } from '../epoch-record.ts';
import type { SelectorResult } from '../result.ts';
import { allPostsName, selectorName, systemNames } from '../system-names.ts';

/** A finished run of a selector. */
export interface ReadSelectorRun {
  readonly variant: string;
  readonly result: SelectorResult;
}

/** What one system of one variant scores with one seed. */
interface SelectorScore {
  readonly test: string;
  readonly task: SelectorTask;
  readonly name: string;
  readonly isSelector: boolean;
  readonly seed: number;
  readonly macroF1: number;
}

function scoresOf(runs: readonly ReadSelectorRun[]): SelectorScore[] {
  const several = new Set(runs.map(({ variant }) => variant)).size > 1;
  return runs.flatMap(({ variant, result }) =>
    result.systems.flatMap(({ name, tests }) =>
      Object.entries(tests).flatMap(([test, scores]) =>
        selectorTasks.flatMap((task): SelectorScore[] => {
          const own = scores[task];
          // Only the veracity model depends on which posts are read, so for stance both would be the same.
          if (own === null || (task === 'stance' && name === allPostsName)) return [];
          const { macroF1 } = own.values;
          const shown = systemNames[name] ?? name;
          return [
            {
              test,
              task,
              name: several ? `${variant}: ${shown}` : shown,
              isSelector: name === selectorName || name === allPostsName,
              seed: result.seed,
              macroF1,
            },
          ];
        }),
      ),
    ),
  );
}

/** For each test set and task the macro-F1 of every system: a dot a seed, and their mean. */
export function scoreCharts(runs: readonly ReadSelectorRun[]): Chart[] {
  const scores = scoresOf(runs);
  const tests = [...new Set(scores.map(({ test }) => test))];
  return tests.flatMap((test, place) =>
    selectorTasks.flatMap((task): Chart[] => {
      const own = scores.filter((score) => score.test === test && score.task === task);
      if (own.length === 0) return [];
      const order = [...new Set(own.map(({ name }) => name))];
      const values = own.map((score) => ({
        ...score,
        details: `${score.name}, seed ${score.seed}\nmacro-F1 ${score.macroF1.toFixed(3)}`,
      }));
      const y = category('name', { title: null, sort: order, axis: { labelLimit: 300 } });
      const colours = { domain: [true, false], range: [palette.vermillion, palette.grey] };
      const color = category('isSelector', { legend: null, scale: colours });
      const score = { title: 'macro-F1', scale: { zero: false, padding: 8 } };
      const layer = [
        silent('tick', { y, x: quantity('macroF1', { aggregate: 'mean' }), color }, { thickness: 3, size: 15 }),
        told('circle', { y, x: quantity('macroF1', score), color }, { opacity: 0.7, size: 45 }),
      ];
      const name = `scores-${place + 1}-${task}`;
      const label = `Macro-F1 of ${task} on ${test}, ${order.length} systems.`;
      const title = `${test}: ${task}`;
      return [{ name, label, spec: { title, width: 230, height: { step: 22 }, data: { values }, layer } }];
    }),
  );
}

/** How a class stands among the items that were shown, and among those that were retained. */
export interface ClassShare {
  readonly label: string;
  readonly among: 'shown' | 'retained';
  readonly items: number;
  readonly share: number;
}

export function classShares(selection: readonly LastSelectionItem[], kind: 'post' | 'claim'): ClassShare[] {
  const shown = selection.filter((item) => item.kind === kind);
  const retained = shown.filter((item) => item.retained);
  const labels = [...new Set(shown.map(({ label }) => label))].sort();
  return labels.flatMap((label) =>
    (
      [
        ['shown', shown],
        ['retained', retained],
      ] as const
    ).map(([among, own]) => {
      const items = own.filter((item) => item.label === label).length;
      return { label, among, items, share: own.length === 0 ? 0 : items / own.length };
    }),
  );
}

/** Shares of classes before and after selection. */
export function shareChart(selection: readonly LastSelectionItem[], kind: 'post' | 'claim'): Chart {
  const values = classShares(selection, kind).map((own) => ({
    ...own,
    details: `${own.label}, among ${kind}s ${own.among}\n${own.items}: ${(100 * own.share).toFixed(1)} %`,
  }));
  const labels = [...new Set(values.map(({ label }) => label))];
  const domain = ['shown', 'retained'];
  const colours = { domain, range: [palette.grey, palette.blue] };
  return {
    name: `shares-${kind}s`,
    label: `Shares of classes among ${kind}s, shown and retained.`,
    spec: {
      width: 380,
      height: { step: 15 },
      data: { values },
      ...told('bar', {
        y: category('label', { title: null, sort: labels, axis: { grid: false } }),
        yOffset: category('among', { sort: domain }),
        x: quantity('share', { title: `share of the ${kind}s`, axis: { format: '%', tickCount: 5 } }),
        color: category('among', { title: null, scale: colours, legend: { orient: 'top' } }),
      }),
    },
  };
}
