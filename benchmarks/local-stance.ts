/*
 * How well the local stance model reads replies: before any training, by what English cues and the words shared with the claim
 * tell, and tuned on human stances of other threads or other events, with and without what else a reply shows. Usage:
 *
 *   node --import tsx benchmarks/local-stance.ts [--tuned threads|events|official] [--pretraining items.jsonl [--penalties 1000,100]]
 *     [--encoder <json>]… [--runs runs] <threads.jsonl>…
 *
 * `--tuned threads` tunes on four of five parts of the threads and scores the fifth, five times; `--tuned events` holds out
 * one event of a hundred stances or more at a time. Scores are of all held-out replies together. `--tuned official` is the shared
 * task: it tunes on the threads whose `split` is train or dev and scores those of test, where a source is a post, too; the
 * penalty and the weights of classes are those that are best on dev (a fifth of train where there is none). `--pretraining` scores all
 * replies by models pretrained on those items, with each of the penalties, without any tuning. Encoders are given as in an
 * experiment, with which they share stored vectors.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { loadSelectorData, replyExamples, selectorClaim } from '../experiments/selector/data.ts';
import { selectorExperimentSchema } from '../experiments/selector/experiment.ts';
import { createLocalStanceModel } from '../experts/task-models/local/stance.ts';
import { type Example, type StanceItem, stanceClasses } from '../experts/task-models/task-model.ts';
import { groupBy } from '../src/data/group-by.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { likeliest } from '../src/likeliest.ts';
import { bootstrapInterval } from '../src/metrics/bootstrap.ts';
import { classificationScores } from '../src/metrics/classification.ts';
import { Random } from '../src/tensor/random.ts';
import type { Encoder } from '../src/text/encoder.ts';
import { hashedWords, namedEncoder } from './named-encoder.ts';

const { values: options, positionals } = parseArgs({
  options: {
    tuned: { type: 'string' },
    pretraining: { type: 'string' },
    penalties: { type: 'string', default: '1000,100,10,1' },
    encoder: { type: 'string', multiple: true, default: [hashedWords] },
    runs: { type: 'string', default: 'runs' },
  },
  allowPositionals: true,
});
const fewestStances = 100;
const isOfficial = options.tuned === 'official';

const readings = [
  ['cues', { claimOverlap: false, replyFeatures: false }],
  ['cues, words shared with the claim', { replyFeatures: false }],
  ['the same, and what else a reply shows', {}],
] as const;
type ModelOptions = NonNullable<Parameters<typeof createLocalStanceModel>[0]['options']>;
// Without training, all else has no weight.
const shown = options.tuned === undefined ? readings.slice(0, 2) : readings;

const rows: string[][] = [];
for (const path of positionals) {
  const threads = (await loadThreads(path, { skipInvalid: true })).filter((thread) => replyExamples(thread).length > 0);
  for (const json of options.encoder) {
    const encoder = await namedEncoder(json, { runs: options.runs });
    const name = String(encoder.identity.name);
    if (options.pretraining !== undefined) {
      const { pretraining: items, penalties } = options;
      rows.push(...(await pretrained(threads, { path, items, penalties: penalties.split(',').map(Number), encoder })));
      continue;
    }
    if (isOfficial) {
      const { chosen, scored } = await officialTest(threads, encoder);
      const replies = scored.filter(({ item }) => item.place?.depth !== 0);
      rows.push([basename(path), name, `all posts (${chosen})`, ...scoresOf(scored), intervalOf(scored)]);
      rows.push([basename(path), name, 'replies', ...scoresOf(replies), intervalOf(replies)]);
      continue;
    }
    for (const [reads, reading] of shown) {
      const scored: Scored[] = [];
      for (const part of partsOf(threads)) {
        const train =
          options.tuned === undefined
            ? []
            : threads.filter((thread) => !part.includes(thread)).flatMap((thread) => replyExamples(thread));
        scored.push(...(await tunedAndScored({ train, test: part.flatMap(replyExamples), encoder, options: reading })));
      }
      rows.push([basename(path), name, reads, ...scoresOf(scored)]);
    }
  }
}
console.log(
  markdownTable(
    [
      [
        'data',
        'encoder',
        'read',
        'posts',
        'accuracy',
        'macro-F1',
        ...stanceClasses,
        ...(isOfficial ? ['macro-F1, 95%'] : []),
      ],
      ...rows,
    ],
    { align: ['l', 'l', 'l', ...Array.from({ length: 4 + stanceClasses.length }, () => 'r')] },
  ),
);

/** A row for the model as it is, and one for each penalty, with the share of the replies whose stance pretraining moves. */
async function pretrained(
  threads: readonly Thread[],
  settings: { path: string; items: string; penalties: readonly number[]; encoder: Encoder },
): Promise<string[][]> {
  const { path, items, penalties, encoder } = settings;
  const { data, seedShare } = selectorExperimentSchema.parse({
    kind: 'selector',
    name: 'pretraining',
    data: { train: path, stancePretraining: items, protocol: 'ids' },
  });
  const { stancePretraining } = await loadSelectorData({ data, seedShare });
  const examples = threads.flatMap(replyExamples);
  const predictedBy = async (pretrainL2: number | null) => {
    const classifier = { folds: 1, ...(pretrainL2 !== null && { pretrainL2 }) };
    const model = createLocalStanceModel({ encoder, options: { explanationWords: 0, classifier } });
    if (pretrainL2 !== null) await model.pretrain(stancePretraining);
    return (await model.predict(examples.map(({ item }) => item))).map(({ distribution }) => likeliest(distribution));
  };
  const before = await predictedBy(null);
  const table: string[][] = [];
  for (const penalty of [null, ...penalties]) {
    const predicted = penalty === null ? before : await predictedBy(penalty);
    const moved = predicted.filter((label, index) => label !== before[index]).length / predicted.length;
    const scored = examples.map((example, index) => ({ ...example, predicted: predicted[index] }));
    const what =
      penalty === null ? 'not pretrained' : `pretrained, penalty ${penalty}: ${(100 * moved).toFixed(1)}% moved`;
    table.push([basename(path), String(encoder.identity.name), what, ...scoresOf(scored)]);
  }
  return table;
}

interface Scored extends Example<StanceItem> {
  readonly predicted: number;
}

async function tunedAndScored(setup: {
  train: readonly Example<StanceItem>[];
  test: readonly Example<StanceItem>[];
  encoder: Encoder;
  options: ModelOptions;
}): Promise<Scored[]> {
  const { train, test, encoder } = setup;
  const model = createLocalStanceModel({
    encoder,
    // What is scored is never tuned on, so no fold has to be held out within.
    options: { ...setup.options, explanationWords: 0, classifier: { ...setup.options.classifier, folds: 1 } },
  });
  await model.tune(train);
  const predictions = await model.predict(test.map(({ item }) => item));
  return test.map((example, index) => ({ ...example, predicted: likeliest(predictions[index].distribution) }));
}

/** Number of posts, accuracy, macro-F1 and F1 of each class. */
function scoresOf(scored: readonly Scored[]): string[] {
  const { macroF1, accuracy, perClass } = classified(scored);
  return [
    String(scored.length),
    ...[accuracy, macroF1, ...perClass.map(({ f1 }) => f1)].map((each) => each.toFixed(3)),
  ];
}

function classified(scored: readonly Scored[]) {
  return classificationScores({
    classes: stanceClasses.length,
    gold: scored.map(({ label }) => label),
    predicted: scored.map(({ predicted }) => predicted),
  });
}

/** Of macro-F1, 95%, over the threads of the test. */
function intervalOf(scored: readonly Scored[]): string {
  const threads = [...groupBy(scored, ({ item }) => item.threadId).values()];
  const { low, high } = bootstrapInterval({
    items: threads.length,
    seed: 1,
    statistic: (drawn) => classified([...drawn].flatMap((thread) => threads[thread])).macroF1,
  });
  return `[${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

/** The held-out parts, one after the other. */
function partsOf(threads: readonly Thread[]): (readonly Thread[])[] {
  if (options.tuned === undefined) return [threads];
  if (options.tuned === 'events') {
    const events = groupBy(threads, ({ event }) => event);
    events.delete(null);
    return [...events.values()].filter((each) => each.flatMap(replyExamples).length >= fewestStances);
  }
  if (options.tuned !== 'threads') throw new Error(`--tuned ${options.tuned}: it must be threads, events or official`);
  const order = Random.seeded({ seed: 1, purpose: 'parts of threads' }).shuffled(threads);
  return [0, 1, 2, 3, 4].map((part) => order.filter((_, index) => index % 5 === part));
}

async function officialTest(threads: readonly Thread[], encoder: Encoder) {
  const of = (...splits: string[]) => threads.filter(({ split }) => splits.includes(split ?? ''));
  const [train, dev] =
    of('dev').length > 0
      ? [of('train'), of('dev')]
      : [of('train').filter((_, index) => index % 5 > 0), of('train').filter((_, index) => index % 5 === 0)];
  let best = { macroF1: -1, classifier: {} as NonNullable<ModelOptions['classifier']> };
  for (const l2 of [0.1, 0.3, 1, 3, 10])
    for (const classWeights of ['none', 'root', 'balanced'] as const) {
      const classifier = { l2, classWeights };
      const scored = await tunedAndScored({
        train: train.flatMap(postExamples),
        test: dev.flatMap(postExamples),
        encoder,
        options: { classifier },
      });
      const { macroF1 } = classified(scored);
      if (macroF1 > best.macroF1) best = { macroF1, classifier };
    }
  return {
    chosen: `l2 ${best.classifier.l2}, weights ${best.classifier.classWeights}`,
    scored: await tunedAndScored({
      train: of('train', 'dev').flatMap(postExamples),
      test: of('test').flatMap(postExamples),
      encoder,
      options: { classifier: best.classifier },
    }),
  };
}

/** Replies and source of a thread. The source stands at depth 0 and repeats its claim. */
function postExamples(thread: Thread): Example<StanceItem>[] {
  const { threadId, claim } = selectorClaim(thread);
  const { stance } = thread.posts[0];
  if (stance === null) return replyExamples(thread);
  const label = stanceClasses.indexOf(stance);
  const place = { parent: null, depth: 0, minutesSinceClaim: 0 };
  return [{ item: { threadId, claim, post: claim, place }, label, explanation: '' }, ...replyExamples(thread)];
}
