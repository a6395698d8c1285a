import { oneLine } from '../../src/one-line.ts';
import { quoted } from '../../src/shell-words.ts';
import { repliesInWords } from '../detectors/decisions.ts';
import type { DetectorEvaluation, DetectorScores } from '../detectors/detect.ts';
import { detectorMetrics } from '../detectors/scores.ts';
import { numbersTable } from '../report/numbers-table.ts';

/** How many errors stand below the scores; JSON has ten, CSV all. */
const errorsShown = 5;
/** Characters of a claim, or of an explanation. */
const longest = 70;

/** The scores of detectors side by side; then how each one's last judgements stand beside the labels. */
export function detectionText(evaluations: readonly DetectorEvaluation[], { store }: { store?: string }): string {
  const beside = evaluations.map(({ detector, at }) => {
    const last = at[at.length - 1];
    const heading = `${detector} after ${repliesInWords(last.replies)}; true labels down, predictions across:`;
    return [heading, confusionTable(last), ...calibrationLine(last), ...errorLines(last, store)].join('\n');
  });
  return `${[detectionTable(evaluations), supportLine(evaluations), ...beside].join('\n\n')}\n`;
}

function confusionTable({ confusion }: DetectorScores): string {
  const hasGaps = confusion.some(({ unanswered }) => unanswered > 0);
  return numbersTable(
    ['true', ...confusion.map(({ label }) => label), ...(hasGaps ? ['no answer'] : [])],
    confusion.map(({ label, predicted, unanswered }) => [
      label,
      ...Object.values(predicted).map(String),
      ...(hasGaps ? [String(unanswered)] : []),
    ]),
  );
}

function calibrationLine({ calibration }: DetectorScores): string[] {
  if (calibration === null) return [];
  const bins = calibration.bins.map(
    ({ confidence, accuracy, items }) => `${confidence.toFixed(2)} → ${accuracy.toFixed(2)} (${items})`,
  );
  return [`Mean probability → share that is right (items): ${bins.join(', ')}`];
}

function errorLines({ worst }: DetectorScores, store: string | undefined): string[] {
  if (worst.length === 0) return [];
  const [{ key }] = worst;
  const table = numbersTable(
    ['error', 'true', 'predicted', 'p', 'claim', 'explanation', 'key'],
    worst
      .slice(0, errorsShown)
      .map(({ thread, label, predicted, confidence, text, explanation, key: own }) => [
        thread,
        label,
        predicted,
        confidence?.toFixed(2) ?? '–',
        oneLine(text, longest),
        oneLine(explanation, longest),
        own?.slice(0, 12) ?? '–',
      ]),
    { texts: ['true', 'predicted', 'claim', 'explanation', 'key'] },
  );
  const show =
    store === undefined || key === null ? [] : [`earshot annotations show ${quoted(store)} ${key.slice(0, 12)}`];
  return ['', table, ...show.map((command) => `The whole transcript: ${command}`)];
}

function detectionTable(evaluations: readonly DetectorEvaluation[]): string {
  const all = evaluations.flatMap(({ detector, at }) => at.map((scores) => ({ detector, ...scores })));
  // Money, calibration and the like have a column where anybody knows of any.
  const shown = detectorMetrics.filter(({ name }) => name !== 'macroF1' && all.some(({ values }) => values[name]));
  const labels = Object.keys(all[0].byLabel);
  return numbersTable(
    [
      'detector',
      'replies',
      'items',
      'macro-F1',
      ...labels.map((label) => `F1 ${label} (P, R)`),
      ...shown.map(({ title }) => title),
    ],
    all.map(({ detector, replies: seen, items, macroF1, macroF1Interval: { low, high }, byLabel, values }) => [
      detector,
      String(seen),
      String(items),
      `${macroF1.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`,
      ...labels.map((label) => {
        const { precision, recall, f1 } = byLabel[label];
        return `${f1.toFixed(3)} (${precision.toFixed(2)}, ${recall.toFixed(2)})`;
      }),
      ...shown.map(({ name, decimals }) => values[name]?.toFixed(decimals) ?? '–'),
    ]),
  );
}

/** The same for every detector. */
function supportLine([{ at }]: readonly DetectorEvaluation[]): string {
  const supports = Object.entries(at[0].byLabel).map(([label, { support }]) => ({ label, support }));
  const absent = supports.filter(({ support }) => support === 0).map(({ label }) => label);
  const warning = absent.length === 0 ? '' : `; no thread is ${absent.join(' or ')}, whose F1 of 0 counts in macro-F1`;
  return `Support: ${supports.map(({ label, support }) => `${label} ${support}`).join(', ')}${warning}`;
}
