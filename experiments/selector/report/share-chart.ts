import { type Chart, palette } from '../../report/page/chart.ts';
import type { LastSelectionItem } from '../last-selection-file.ts';

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
  return {
    name: `shares-${kind}s`,
    label: `Shares of classes among ${kind}s, shown and retained.`,
    spec: {
      width: 380,
      height: { step: 15 },
      data: { values },
      mark: { type: 'bar' },
      encoding: {
        y: { field: 'label', type: 'nominal', title: null, sort: labels, axis: { grid: false } },
        yOffset: { field: 'among', type: 'nominal', sort: domain },
        x: {
          field: 'share',
          type: 'quantitative',
          title: `share of the ${kind}s`,
          axis: { format: '%', tickCount: 5 },
        },
        color: {
          field: 'among',
          type: 'nominal',
          title: null,
          scale: { domain, range: [palette.grey, palette.blue] },
          legend: { orient: 'top' },
        },
        description: { field: 'details', type: 'nominal' },
      },
    },
  };
}
