import { type HeldOutScores, heldOutSystems } from '../../../experts/detectors/local/held-out.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import type { ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { systemsTable, type Table } from '../../report/table.ts';
import type { TrialResult } from '../result.ts';

/*
 * A policy is as good as the detector behind it. What the detectors of an experiment predict of threads that they have not seen, by
 * cross-validation, stands before anything that an agent does.
 */

export interface DetectorTruth {
  /** Variants with this detector; null where all have it. */
  readonly variants: readonly string[] | null;
  /** Mean over seeds of macro-F1 and of the F1 of each label, by what is read. */
  readonly readers: readonly {
    readonly name: string;
    readonly macroF1: number;
    readonly f1: Readonly<Record<string, number>>;
  }[];
  /** Labelled threads that are not tested, because they were chosen by margin or chose them. */
  readonly chosen: number;
  /** Threads of each label, in the first seed. */
  readonly support: Readonly<Record<string, number>>;
  /** Why no stopping rule can help, and what to do, in a sentence; null where the detector is better than guessing. */
  readonly problem: string | null;
}

/** One for each detector that was trained here; none for detector files. */
export function detectorTruths(results: readonly VariantResults<TrialResult>[]): DetectorTruth[] {
  const detectors = results.flatMap(({ variant, trials }) => {
    const heldOut = trials.flatMap(({ detector }) => (detector === null ? [] : [detector]));
    return heldOut.length === 0 ? [] : [{ variant, heldOut }];
  });
  const alike = [...groupBy(detectors, ({ heldOut }) => JSON.stringify(heldOut)).values()];
  return alike.map((detector) => ({
    ...detectorTruth(detector[0].heldOut, { whatToDo }),
    variants: alike.length === 1 && detectors.length === results.length ? null : detector.map(({ variant }) => variant),
  }));
}

/**
 * Judges detectors of one task, one for each seed.
 * @param options.whatToDo where they are no better than guessing
 */
export function detectorTruth(heldOut: readonly HeldOutScores[], options: { whatToDo: string }): DetectorTruth {
  const { support, chosen = 0 } = heldOut[0];
  const problem = detectorProblem(heldOut);
  return {
    variants: null,
    readers: heldOutSystems.map((name) => {
      const scores = heldOut.map(({ systems }) => systems.find((system) => system.name === name)!);
      const f1 = Object.keys(support).map((label) => [label, mean(scores.map((score) => score.f1[label]))]);
      return {
        name: readerNames[name],
        macroF1: mean(scores.map(({ macroF1 }) => macroF1)),
        f1: Object.fromEntries(f1),
      };
    }),
    support,
    chosen,
    problem: problem === null ? null : `${problem}. Next: ${options.whatToDo}.`,
  };
}

const readerNames: Readonly<Record<(typeof heldOutSystems)[number], string>> = {
  'all posts': 'all posts',
  'claim only': 'the first post only',
  'most common label': 'most common label',
};

const whatToDo =
  'label more threads, above all of the rarer labels, add a sentence encoder (detector.encoder), or name a detector on language models (detector.file)';

const whose = ({ variants }: DetectorTruth) => (variants === null ? '' : ` of ${variants.join(', ')}`);

/** The quality of a detector, in a sentence. */
export function detectorTruthLine(truth: DetectorTruth): string {
  const [all, claim, majority] = truth.readers.map(({ macroF1 }) => macroF1.toFixed(3));
  return `Detector${whose(truth)} on threads that it has not seen: macro-F1 ${all} after all posts, ${claim} after the first post; the most common label has ${majority}. ${testedInWords(truth)}`.trimEnd();
}

export function detectorTruthSections(truths: readonly DetectorTruth[]): ReportSection[] {
  return truths.map((truth, index) => ({
    id: `detector-${index + 1}`,
    title: `The detector${whose(truth)} on threads that it has not seen`,
    blocks: [
      detectorTruthTable(truth),
      testedInWords(truth),
      'By cross-validation on the threads that trained the detector: each is judged by a detector that has not seen it. Mean over seeds.',
    ],
  }));
}

/** Which labels test, in a sentence; empty where all do. */
export function testedInWords({ support, chosen }: DetectorTruth): string {
  if (chosen === 0) return '';
  const tested = Object.values(support).reduce((sum, count) => sum + count, 0);
  return `${tested} of the ${tested + chosen} labelled threads test, because they were drawn at random. The other ${chosen} were chosen by margin, or chose them, and are harder than others: they only train.`;
}

export function detectorTruthTable({ readers, support }: DetectorTruth): Table {
  const rows = readers.map(({ name, macroF1, f1 }) => {
    const ofLabels = Object.entries(f1).map(([label, value]) => [`f1 ${label}`, { mean: value }]);
    return { name, values: { macroF1: { mean: macroF1 }, ...Object.fromEntries(ofLabels) } };
  });
  const labels = Object.entries(support).map(([label, threads]) => ({
    name: `f1 ${label}`,
    title: `F1 ${label} (${threads})`,
    decimals: 3,
  }));
  return systemsTable(rows, [{ name: 'macroF1', title: 'macro-F1', decimals: 3 }, ...labels], { first: 'reads' });
}

/** From this share of the threads on, a detector predicts one label. */
const oneLabel = 0.98;

/** Why no stopping rule can help, in a sentence: the detector is no better than guessing. Null where it is better. */
export function detectorProblem(heldOut: readonly HeldOutScores[]): string | null {
  const threads = heldOut.reduce((sum, scores) => sum + scores.threads, 0);
  const labels = Object.keys(heldOut[0].support);
  const share = (label: string, of: (scores: HeldOutScores) => Readonly<Record<string, number>>) =>
    heldOut.reduce((sum, scores) => sum + of(scores)[label], 0) / threads;
  const systemOf = (scores: HeldOutScores, system: string) => scores.systems.find(({ name }) => name === system)!;
  const predicted = new Map(
    labels.map((label) => [label, share(label, (scores) => systemOf(scores, 'all posts').said)]),
  );
  const first = labels.find((label) => predicted.get(label)! >= oneLabel);
  if (first !== undefined)
    return `The detector predicts one label (${first} for ${percent(predicted.get(first)!)} of the threads that it has not seen); no stopping rule can help`;
  // Labels drawn as often as the detector predicts them: precision is the share of a label, recall how often it is predicted.
  const guessing = mean(
    labels.map((label) => {
      const [is, says] = [share(label, ({ support }) => support), predicted.get(label)!];
      return (2 * is * says) / (is + says || 1);
    }),
  );
  const macroF1 = mean(heldOut.map((scores) => systemOf(scores, 'all posts').macroF1));
  const majority = mean(heldOut.map((scores) => systemOf(scores, 'most common label').macroF1));
  // 1.64 standard errors of a share of one half: 95% of guessing detectors stay below that.
  const chance = 1.64 * Math.sqrt(0.25 / heldOut[0].threads);
  if (macroF1 > Math.max(majority, guessing + chance)) return null;
  const comparison = `(macro-F1 ${macroF1.toFixed(3)}; guesses as frequent ${guessing.toFixed(3)}, the most common label ${majority.toFixed(3)})`;
  // A detector that is a little better may be much better: so few threads cannot show it.
  return macroF1 < Math.max(majority, guessing) + 0.01
    ? `The detector is no better than guessing on threads that it has not seen ${comparison}; no stopping rule can help`
    : `The detector brings no measurable gain over guessing on ${heldOut[0].threads} threads that it has not seen ${comparison}; if it guesses, no stopping rule can help`;
}
