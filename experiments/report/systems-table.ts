import { markdownTable } from 'markdown-table';
import type { SystemScores } from '../stop-agent/decisions.ts';

/** One evaluation's systems in Markdown, with intervals over threads. */
export function systemsTable(systems: readonly SystemScores[]): string {
  const withInterval = (value: number, [low, high]: readonly [number, number]) =>
    `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
  const labels = Object.keys(systems[0].f1ByLabel);
  return markdownTable(
    [
      [
        'system',
        'macro-F1',
        ...labels.map((label) => `F1 ${label}`),
        'ER',
        'delay, posts',
        'delay, hours',
        'calls a thread',
        'most common stop',
      ],
      ...systems.map((system) => [
        system.name,
        withInterval(system.macroF1, system.macroF1Interval),
        ...labels.map((label) => system.f1ByLabel[label].toFixed(3)),
        withInterval(system.er, system.erInterval),
        system.delayPosts.toFixed(1),
        system.delayHours === null ? '–' : system.delayHours.toFixed(1),
        system.calls === 'oracle' ? '–' : system.callsPerThread.toFixed(1),
        `${system.mostCommonStop.name} (${(100 * system.mostCommonStop.share).toFixed(0)} %)`,
      ]),
    ],
    { align: ['l', ...Array<string>(5 + labels.length).fill('r'), 'l'] },
  );
}
