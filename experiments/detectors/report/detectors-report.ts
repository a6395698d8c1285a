import { counted } from '../../../src/counted.ts';
import { described, type ReportDocument, type ReportSection } from '../../report/document.ts';
import type { ScreenBlock } from '../../report/narrow-table.ts';
import { isMeasurable, signedInterval, withInterval } from '../../report/shown-numbers.ts';
import type { ReportSource } from '../../report/variant-results.ts';
import { repliesInWords } from '../decisions.ts';
import { detectorMetrics } from '../scores.ts';
import { allReplies, type DetectorPoint, type DetectorStanding, type Estimate, type Standing } from './standing.ts';

type Reported = Pick<ReportSource, 'name' | 'description' | 'command'> & { readonly standing: Standing };

const quality = detectorMetrics.slice(0, 5);
const price = detectorMetrics.slice(5);

/** Scores, prices and differences of the detectors of an experiment. */
export function detectorsDocument({ name, description, command, standing }: Reported): ReportDocument {
  const { detectors, verdict, notes, items, majority } = standing;
  const labels = Object.keys(detectors[0].last.f1);
  const rows = detectors.map(({ variant, last }) => [
    variant,
    withInterval(last.macroF1),
    ...quality.slice(1).map((metric) => cell(last, metric.name)),
    ...labels.map((label) => last.f1[label].toFixed(3)),
  ]);
  const always = [`always ${majority.label}`, majority.macroF1.toFixed(3), majority.accuracy.toFixed(3)];
  return {
    title: name,
    lead: [
      `Verdict: ${verdict}.`,
      ...described(description),
      { command },
      `${items[0].toUpperCase()}${items.slice(1)}.`,
      ...notes.map((warning) => ({ warning })),
    ],
    sections: [
      {
        id: 'scores',
        title: 'Scores',
        blocks: [
          {
            heading: ['detector', ...quality.map(({ title }) => title), ...labels.map((label) => `F1 ${label}`)],
            rows: [...rows, [...always, ...Array<string>(quality.length - 2 + labels.length).fill('–')]],
          },
          'In brackets 95 % intervals by a bootstrap over seeds and items. The Brier score (0 to 2) and the expected calibration error\n' +
            'are over the items whose answer has probabilities; – where none has.',
        ],
      },
      {
        id: 'price',
        title: 'What a judgement takes',
        blocks: [
          {
            heading: ['detector', ...price.map(({ title }) => title)],
            rows: detectors.map(({ variant, last }) => [
              variant,
              ...price.map(({ name: metric }) => cell(last, metric)),
            ]),
          },
          'Means over items, of when a judgement was made; parts that judgements share count in each, and items without an answer count 0 (in\n' +
            'seconds not at all). Money is – where the models of a detector have different prices.',
        ],
      },
      ...repliesSection(detectors),
      ...differencesSection(standing),
    ],
  };
}

function cell({ values }: DetectorPoint, name: string): string {
  const value = values[name];
  const { decimals = 3 } = detectorMetrics.find((metric) => metric.name === name) ?? {};
  return value === null ? '–' : value.toFixed(decimals);
}

function repliesSection(detectors: readonly DetectorStanding[]): ReportSection[] {
  const points = allReplies(detectors);
  if (points.length === 1) return [];
  const rows = detectors.map(({ variant, points: own }) => [
    variant,
    ...points.map((replies) => {
      const point = own.find((each) => each.replies === replies);
      return point === undefined ? '–' : withInterval(point.macroF1);
    }),
  ]);
  const blocks = [{ heading: ['detector', ...points.map(repliesInWords)], rows }];
  return [{ id: 'posts-read', title: 'Macro-F1 by posts read', blocks }];
}

function differencesSection({ differences }: Standing): ReportSection[] {
  if (differences.length === 0) return [];
  const shown = (of: Estimate) => `${signedInterval(of)}, p = ${of.pValue.toFixed(3)}`;
  const table = {
    heading: ['detector', 'minus', 'macro-F1', 'accuracy'],
    texts: ['minus'],
    rows: differences.map(({ first, second, macroF1, accuracy }) => [first, second, shown(macroF1), shown(accuracy)]),
    isMarked: (row: number) => isMeasurable(differences[row].macroF1),
  };
  const explained = `A paired bootstrap over seeds and the items that all judged.${differences.length > 1 ? ` Of ${differences.length} comparisons one in twenty seems to differ by chance.` : ''} \`earshot compare\` shows every metric.`;
  return [{ id: 'differences', title: 'Differences, paired', blocks: [table, explained] }];
}

/** The same on a screen. */
export function summarizeDetectors(name: string, { detectors, verdict, notes }: Standing): ScreenBlock[] {
  const shown = ['accuracy', 'brier', 'calls', 'inputTokens', 'outputTokens', 'cost'].filter((metric) =>
    detectors.some(({ last }) => (last.values[metric] ?? 0) !== 0),
  );
  const rows = detectors.map(({ variant, last }) => [
    variant,
    withInterval(last.macroF1),
    ...shown.map((metric) => cell(last, metric)),
  ]);
  const titles = shown.map((metric) => detectorMetrics.find((own) => own.name === metric)?.title ?? metric);
  return [
    `${name}: ${counted(detectors.length, 'detector')}`,
    [['detector', 'macro-F1', ...titles], ...rows],
    [...notes.map((note) => `Mind: ${note}.`), `Verdict: ${verdict}.`].join('\n'),
  ];
}
