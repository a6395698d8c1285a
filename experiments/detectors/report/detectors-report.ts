import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { entryOf } from '../../../src/entry-of.ts';
import { oneLine } from '../../../src/one-line.ts';
import { present } from '../../../src/present.ts';
import { quoted } from '../../../src/shell-words.ts';
import { workContext } from '../../../src/work-context.ts';
import { kindReport, provenanceFacts, type ReportSource, readable } from '../../report/kind-report.ts';
import type { PageData, ShownTranscript } from '../../report/page/page-data.ts';
import type { Block, Report, ReportSection } from '../../report/report.ts';
import { directionOf, estimated, shown } from '../../report/shown-numbers.ts';
import { confusionTable, type ShownMetric, systemsTable, type Table } from '../../report/table.ts';
import { debateOf } from '../../report/transcript-rounds.ts';
import { type DetectorDecision, repliesInWords } from '../decisions.ts';
import { type DetectorsExperiment, detectorsExperimentSchema } from '../experiment.ts';
import { readItems } from '../items.ts';
import { detectorsJson, readDetectorsResult } from '../result.ts';
import { confusionOf, detectorMetrics, f1Metrics, surestErrors } from '../scores.ts';
import { allReplies, type DetectorStanding, type Standing, standingOf } from './standing.ts';

export const detectorsReport = kindReport({
  read: readDetectorsResult,
  json: detectorsJson,
  of: (source, results) => reportOf(source, standingOf(results)),
});

// Seeds draw other items, so that their deviation would mix both; intervals are over seeds and items.
const withoutDeviation = (metric: ShownMetric) => ({ ...metric, shows: 'interval' as const });
const tabled = detectorMetrics.map(withoutDeviation);
const quality = tabled.slice(0, 5);
const price = tabled.slice(5);

function reportOf(source: ReportSource, standing: Standing): Report {
  const { name, description, command, variants, cache } = source;
  const { detectors, notes, items, majority, conclusion } = standing;
  const experiment = RunDirectory.open(variants[0].directories[0]).readConfig(detectorsExperimentSchema);
  const store = experiment.annotations ?? join(cache, 'annotations.sqlite');
  const [best] = detectors.toSorted((a, b) => b.last.macroF1.mean - a.last.macroF1.mean);
  const [first, second] = variants.map(({ directories }) => quoted(directories[0].replace(/\/seed-[^/]*$/, '')));
  const isKnown = ({ name: metric }: ShownMetric) =>
    metric === 'macroF1' || detectors.some(({ last }) => (last.values[metric]?.mean ?? 0) !== 0);
  const rows = detectors.map(({ variant: name, last: { values } }) => {
    return { name, values, isMarked: name === best.variant };
  });
  const always = {
    name: `always ${majority.label}`,
    values: { macroF1: { mean: majority.macroF1 }, accuracy: { mean: majority.accuracy } },
  };
  const short = ['macroF1', 'accuracy', 'brier', 'calls', 'inputTokens', 'outputTokens', 'cost'];
  const table = { first: 'detector' };
  return {
    ...{ title: name, description, command, conclusion },
    tables: [
      systemsTable(
        [...rows, always],
        tabled.filter((metric) => short.includes(metric.name) && isKnown(metric)),
        table,
      ),
      ...repliesTable(detectors),
    ],
    notes: notes.map((warning) => ({ warning })),
    next: second === undefined ? [] : [`npx earshot compare ${first} ${second} --html`],
    facts: [...provenanceFacts(variants, experiment.data.threads ?? 'made here'), items],
    sections: present([
      {
        id: 'scores',
        title: 'Scores',
        blocks: [
          systemsTable(
            [...rows, always],
            [...quality, ...f1Metrics(detectors[0].trials[0]).map(withoutDeviation)],
            table,
          ),
          'In brackets 95% intervals by a bootstrap over seeds and items. The Brier score (0 to 2) and the expected calibration error are over the items whose prediction has probabilities; – where none has.',
          systemsTable(rows, price, table),
          'Means over items, of when a judgement was made; parts that judgements share count in each, and items without an answer count 0 (in seconds not at all). Money is what was paid when the judgement was made; – where a price was not known then.',
        ],
      },
      differencesSection(standing),
      besideSection(detectors, store),
    ]),
    page: () => pageSections(detectors, { experiment, store }),
  };
}

/** Where there is more than one number of replies. */
function repliesTable(detectors: readonly DetectorStanding[]): Table[] {
  const all = allReplies(detectors);
  if (all.length === 1) return [];
  const rows = detectors.map(({ variant, points }) => {
    return { name: variant, values: Object.fromEntries(points.map(({ replies, macroF1 }) => [replies, macroF1])) };
  });
  const metrics = all.map((replies) => ({ name: String(replies), title: repliesInWords(replies), decimals: 3 }));
  return [systemsTable(rows, metrics, { first: 'macro-F1 by posts read' })];
}

/** The last predictions of each detector beside the true labels, and those that it was surest of in error. */
function besideSection(detectors: readonly DetectorStanding[], store: string): ReportSection {
  const blocks = detectors.flatMap(({ variant, trials: [first], last: { decisions, replies } }): Block[] => {
    const { labels, counts } = confusionOf(first, decisions);
    const errors = surestErrors(decisions);
    const key = errors[0]?.key?.slice(0, 12);
    return present<Block>([
      `**${variant}**, ${repliesInWords(replies)}:`,
      confusionTable(labels, counts),
      errors.length > 0 && {
        heading: ['surest errors', 'true', 'predicted', 'p', 'explanation', 'key'],
        texts: ['true', 'predicted', 'explanation', 'key'],
        rows: errors.map(({ item, label, predicted, confidence, explanation, key: annotationKey }) => [
          ...[item, label, predicted, confidence?.toFixed(2) ?? '–'],
          ...[oneLine(explanation, longestText), annotationKey?.slice(0, 12) ?? '–'],
        ]),
      },
      key !== undefined && { commands: [`earshot annotations show ${quoted(store)} ${key}`] },
    ]);
  });
  return { id: 'beside', title: 'Predictions beside the labels', blocks };
}

function differencesSection({ differences }: Standing): ReportSection | null {
  if (differences.length === 0) return null;
  const cell = (of: (typeof differences)[number]['macroF1']) =>
    `${shown(estimated(of), { isDifference: true })}, p = ${of.pValue.toFixed(3)}`;
  const table = {
    heading: ['detector', 'minus', 'macro-F1', 'accuracy'],
    texts: ['minus'],
    rows: differences.map(({ first, second, macroF1, accuracy }) => [first, second, cell(macroF1), cell(accuracy)]),
    isMarked: (row: number) => directionOf(differences[row].macroF1) !== 0,
  };
  const chance =
    differences.length > 1 ? ` Of ${differences.length} comparisons one in twenty seems to differ by chance.` : '';
  const explained = `A paired bootstrap over seeds and the items that both judged.${chance} \`earshot compare\` shows every metric.`;
  return { id: 'differences', title: 'Differences, paired', blocks: [table, explained] };
}

async function pageSections(
  detectors: readonly DetectorStanding[],
  { experiment, store }: { experiment: DetectorsExperiment; store: string },
): Promise<ReportSection[]> {
  // Claims are missing where the data of a run can no longer be read.
  const { value, problem } = await readable(() => readItems(experiment, workContext()));
  const texts = new Map(value?.threads.map(({ id, posts }) => [id, posts[0].text]));
  const transcripts = transcriptsOf(detectors, { store, texts });
  return present<ReportSection>([
    { id: 'disagreements', title: 'Where they disagree', blocks: disagreements(detectors, { texts, problem }) },
    transcripts && { id: 'said', title: 'What was said', blocks: [{ script: 'transcripts', data: transcripts }] },
  ]);
}

const itemsShown = 300;
const longestText = 280;

/** Items of the first seed on which two detectors differ, after the most posts; those that divide them most come first. */
function disagreements(
  detectors: readonly DetectorStanding[],
  { texts, problem }: { texts: ReadonlyMap<string, string>; problem: string | null },
): Block[] {
  const predictions = detectors.map(({ trials, last }) => {
    const lastDecisions = trials[0].decisions.get(last.replies) ?? [];
    return new Map(lastDecisions.map((decision) => [decision.item, decision]));
  });
  const rows = [...predictions[0].keys()].flatMap((id) => {
    const decisions = predictions.map((byItem) => byItem.get(id));
    const wrong = decisions.filter(
      (decision) => decision !== undefined && decision.prediction !== decision.gold,
    ).length;
    const labels = new Set(decisions.flatMap((decision) => (decision === undefined ? [] : [decision.prediction])));
    return labels.size < 2 ? [] : [{ id, decisions, divided: Math.min(wrong, decisions.length - wrong) }];
  });
  if (rows.length === 0) return ['All detectors predict alike on every item.'];
  const variants = detectors.map(({ variant }) => variant);
  rows.sort((a, b) => b.divided - a.divided);
  const listed = rows.length > itemsShown ? ` The first ${itemsShown} are listed.` : '';
  return present<Block>([
    `${rows.length} of ${predictions[0].size} items of seed ${detectors[0].trials[0].seed}; those that divide the detectors most come first.${listed}`,
    problem !== null && `Texts are missing: ${problem}`,
    {
      heading: ['item', 'text', 'true', ...variants],
      texts: ['text', 'true', ...variants],
      rows: rows
        .slice(0, itemsShown)
        .map(({ id, decisions }) => [
          id,
          oneLine(texts.get(id) ?? '–', longestText),
          decisions.find((decision) => decision !== undefined)?.gold ?? '–',
          ...decisions.map(predictionCell),
        ]),
    },
  ]);
}

/** The prediction of a detector, its confidence and its reason. */
function predictionCell(decision: DetectorDecision | undefined): string {
  if (decision === undefined) return '–';
  const { prediction: predicted, gold, probabilities, numbers, texts } = decision;
  const label = predicted ?? (numbers.abstained ? 'abstains' : 'no answer');
  const confidence = predicted === null ? undefined : entryOf(probabilities ?? {}, predicted)?.toFixed(2);
  return present([predicted === gold ? '✓' : '✗', label, confidence, oneLine(texts.explanation, longestText)]).join(
    ' ',
  );
}

/** So that a page stays a few MB. */
const mostTranscripts = 200;

/**
 * Transcripts of detectors on language models after the most replies, seed after seed, wrong ones first.
 * @param options.texts claims by thread
 * @returns null where nobody talks, or the store is gone
 */
function transcriptsOf(
  detectors: readonly DetectorStanding[],
  { store: path, texts }: { store: string; texts: ReadonlyMap<string, string> },
): NonNullable<PageData['transcripts']> | null {
  const judged = detectors
    .flatMap(({ variant, last }) => last.decisions.map((decision) => ({ variant, decision })))
    .filter(({ decision }) => decision.texts.key !== null && decision.prediction !== null)
    .toSorted((a, b) => Number(isRight(a.decision)) - Number(isRight(b.decision)))
    .slice(0, mostTranscripts);
  if (judged.length === 0 || !existsSync(path)) return null;
  const { labels } = detectors[0].trials[0];
  const store = AnnotationStore.open(path);
  try {
    const judgements = store.getMany(judged.flatMap(({ decision }) => decision.texts.key ?? []));
    const rows = judged.flatMap(({ variant, decision }): ShownTranscript[] => {
      const judgement = judgements.get(decision.texts.key ?? '');
      if (judgement === undefined || judgement.transcript.length === 0) return [];
      const { item, gold, numbers } = decision;
      const shown = { detector: variant, thread: item, text: texts.get(item) ?? '', gold: labels.indexOf(gold) };
      return [{ ...shown, ...debateOf(judgement, { posts: numbers.posts, labels }) }];
    });
    return rows.length === 0 ? null : { labels, rows };
  } finally {
    store.close();
  }
}

function isRight({ gold, prediction }: { gold: string; prediction: string | null }): boolean {
  return gold === prediction;
}
