import { type HeldOutScores, heldOutSystems } from '../../../experts/detectors/local/held-out.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { ReportSection, ReportTable } from '../../report/document.ts';
import { tableMarkup } from '../../report/page/document-markup.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { percent } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import type { TrialResult } from '../result.ts';

/*
 * A policy is as good as the detector behind it. What the detectors of an experiment say of threads that they have not seen, by
 * cross-validation, stands before anything that an agent does.
 */

interface Reader {
  readonly name: (typeof heldOutSystems)[number];
  /** Means over seeds. */
  readonly macroF1: number;
  readonly f1: Readonly<Record<string, number>>;
}

export interface DetectorTruth {
  /** Variants with this detector; null where all have it. */
  readonly variants: readonly string[] | null;
  readonly readers: readonly Reader[];
  /** Threads of each label, in the first seed. */
  readonly support: Readonly<Record<string, number>>;
  /** Why no stopping rule can help, and what to do; null where the detector is better than guessing. */
  readonly verdict: string | null;
}

/** One for each detector that was trained here; none for detector files, and for runs of before these numbers were kept. */
export function detectorTruths(results: readonly VariantResults<TrialResult>[]): DetectorTruth[] {
  const known = results.flatMap(({ variant, trials }) => {
    const heldOut = trials.flatMap(({ detector }) => (detector === null ? [] : [detector]));
    return heldOut.length === 0 ? [] : [{ variant, heldOut }];
  });
  const alike = [...groupBy(known, ({ heldOut }) => JSON.stringify(heldOut)).values()];
  return alike.map((own) => ({
    ...detectorTruth(own[0].heldOut, { whatToDo }),
    variants: alike.length === 1 && known.length === results.length ? null : own.map(({ variant }) => variant),
  }));
}

/**
 * What detectors of one task are worth, one for each seed.
 * @param options.whatToDo where they are no better than guessing
 */
export function detectorTruth(heldOut: readonly HeldOutScores[], options: { whatToDo: string }): DetectorTruth {
  const { support } = heldOut[0];
  const problem = problemOf(heldOut);
  return {
    variants: null,
    readers: heldOutSystems.map((name) => {
      const scores = heldOut.map(({ systems }) => systems.find((system) => system.name === name)!);
      return {
        name,
        macroF1: mean(scores.map(({ macroF1 }) => macroF1)),
        f1: Object.fromEntries(Object.keys(support).map((label) => [label, mean(scores.map(({ f1 }) => f1[label]))])),
      };
    }),
    support,
    verdict: problem === null ? null : `${problem}. Next: ${options.whatToDo}`,
  };
}

/** From this share of the threads on, a detector answers one label. */
const oneLabel = 0.98;
const whatToDo =
  'give the detector more labelled threads (split.detector), above all of the rarer labels, add a sentence encoder (detector.encoder), or name a detector on language models (detector.file)';

function problemOf(heldOut: readonly HeldOutScores[]): string | null {
  const threads = heldOut.reduce((sum, own) => sum + own.threads, 0);
  const labels = Object.keys(heldOut[0].support);
  const share = (label: string, of: (own: HeldOutScores) => Readonly<Record<string, number>>) =>
    heldOut.reduce((sum, own) => sum + of(own)[label], 0) / threads;
  const all = (own: HeldOutScores) => own.systems.find(({ name }) => name === 'all posts')!;
  const said = new Map(labels.map((label) => [label, share(label, (own) => all(own).said)]));
  const [first] = labels.filter((label) => said.get(label)! >= oneLabel);
  if (first !== undefined)
    return `the detector answers one label (${first} for ${percent(said.get(first)!)} of the threads that it has not seen); no stopping rule can help`;
  // Labels drawn as often as the detector says them: precision is the share of a label, recall how often it is said.
  const guessing = mean(
    labels.map((label) => {
      const [is, says] = [share(label, ({ support }) => support), said.get(label)!];
      return (2 * is * says) / (is + says || 1);
    }),
  );
  const macroF1 = mean(heldOut.map((own) => all(own).macroF1));
  const majority = mean(
    heldOut.map(({ systems }) => systems.find(({ name }) => name === 'most common label')!.macroF1),
  );
  // 1.64 standard errors of a share of one half: 95 % of guessing detectors stay below that.
  const chance = 1.64 * Math.sqrt(0.25 / heldOut[0].threads);
  if (macroF1 > Math.max(majority, guessing + chance)) return null;
  const seen = `(macro-F1 ${macroF1.toFixed(3)}; guesses as frequent ${guessing.toFixed(3)}, the most common label ${majority.toFixed(3)})`;
  // A detector that is a little better may be much better: so few threads cannot tell.
  return macroF1 < Math.max(majority, guessing) + 0.01
    ? `the detector is no better than guessing on threads that it has not seen ${seen}; no stopping rule can help`
    : `the detector brings no measurable gain over guessing on ${heldOut[0].threads} threads that it has not seen ${seen}; if it guesses, no stopping rule can help`;
}

const explained =
  'By cross-validation on the threads that trained the detector: each is judged by a detector that has not seen it. Mean over seeds.';

const titleOf = ({ variants }: DetectorTruth) =>
  `The detector${variants === null ? '' : ` of ${variants.join(', ')}`} on threads that it has not seen`;
const columnsOf = ({ support }: DetectorTruth) =>
  Object.entries(support).map(([label, threads]) => `F1 ${label} (${threads})`);
const sentence = (verdict: string) => `${verdict[0].toUpperCase()}${verdict.slice(1)}.`;

/** Sections of a report. */
export function detectorTruthSections(truths: readonly DetectorTruth[]): ReportSection[] {
  return truths.map((truth, index) => ({
    id: `detector-${index + 1}`,
    title: titleOf(truth),
    blocks: [
      detectorTruthTable(truth),
      explained,
      ...(truth.verdict === null ? [] : [`**${sentence(truth.verdict)}**`]),
    ],
  }));
}

export function detectorTruthTable(truth: DetectorTruth): ReportTable {
  const rows = truth.readers.map(({ name, macroF1, f1 }) => [
    name,
    macroF1.toFixed(3),
    ...Object.values(f1).map((value) => value.toFixed(3)),
  ]);
  return { heading: ['reads', 'macro-F1', ...columnsOf(truth)], rows };
}

function lineOf({ variants, readers }: Pick<DetectorTruth, 'variants' | 'readers'>): string {
  const [all, claim, majority] = readers.map(({ macroF1 }) => macroF1.toFixed(3));
  const whose = variants === null ? '' : ` of ${variants.join(', ')}`;
  return `Detector${whose} on threads that it has not seen: macro-F1 ${all} after all posts, ${claim} after the claim; the most common label has ${majority}.`;
}

/** Lines of the terminal's summary. */
export function detectorTruthLines(truths: readonly DetectorTruth[]): string[] {
  return truths.flatMap(({ variants, readers, verdict }) => {
    const whose = variants === null ? '' : ` of ${variants.join(', ')}`;
    return [lineOf({ variants, readers }), ...(verdict === null ? [] : [`Verdict${whose}: ${verdict}.`])];
  });
}

/** The same on the page: the table is open where it has a problem to show. */
export function detectorTruthMarkup(truths: readonly DetectorTruth[]): Markup {
  return html`${truths.map(
    (truth) => html`${truth.verdict === null ? null : html`<p class="warning">${sentence(truth.verdict)}</p>`}
<details class="detector"${truth.verdict === null ? null : html` open`}><summary>${lineOf(truth)}</summary>
${tableMarkup(detectorTruthTable(truth), titleOf(truth))}
<p class="facts">${explained}</p>
</details>
`,
  )}`;
}
