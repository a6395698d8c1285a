/*
 * How well the local veracity model judges claims of events that it was not trained on, by what it encodes texts with, when
 * people labelled every claim of the other events. Usage:
 *
 *   node --import tsx benchmarks/local-veracity.ts [--encoder <json>]… [--posts 16] [--development charliehebdo] [--runs runs] <threads.jsonl>
 *
 * Each event is held out once, without near-duplicates of its claims among the training. The penalty and the weights of claim and
 * posts are those that are best on the development event; its row is then no test. Stances are not read.
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { selectorClaim } from '../experiments/selector/data.ts';
import { disjointParts } from '../experiments/selector/protocol.ts';
import { createLocalVeracityModel } from '../experts/task-models/local/veracity.ts';
import { type Example, type VeracityItem, veracityClasses } from '../experts/task-models/task-model.ts';
import { veracityTask } from '../src/data/task.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { likeliest } from '../src/likeliest.ts';
import { classificationScores } from '../src/metrics/classification.ts';
import type { Encoder } from '../src/text/encoder.ts';
import { hashedWords, namedEncoder } from './named-encoder.ts';

const { values: options, positionals } = parseArgs({
  options: {
    encoder: { type: 'string', multiple: true, default: [hashedWords] },
    posts: { type: 'string', default: '16' },
    development: { type: 'string', default: 'charliehebdo' },
    runs: { type: 'string', default: 'runs' },
  },
  allowPositionals: true,
});
type ModelOptions = NonNullable<Parameters<typeof createLocalVeracityModel>[0]['options']>;

const loaded = await loadThreads(positionals[0], { skipInvalid: true });
const threads = loaded.map((thread) => ({ ...thread, posts: thread.posts.slice(0, Number(options.posts)) }));
const events = [...new Set(threads.flatMap(({ event }) => event ?? []))].sort();

const rows: string[][] = [];
for (const json of options.encoder) {
  const encoder = await namedEncoder(json, { runs: options.runs });
  const chosen = await bestOnDevelopment(encoder);
  for (const event of events) {
    const { macroF1, perClass, items } = await heldOutScores({ event, encoder, options: chosen });
    rows.push([
      String(encoder.identity.name),
      event === options.development ? `${event} (development)` : event,
      `${chosen.classifier?.l2}, ${chosen.claimWeight}, ${chosen.postWeight}`,
      ...[String(items), macroF1.toFixed(3), ...perClass.map(({ f1 }) => f1.toFixed(3))],
    ]);
  }
}
console.log(
  markdownTable([
    ['encoder', 'held out', 'l2, weight of claim, of posts', 'claims', 'macro-F1', ...veracityClasses],
    ...rows,
  ]),
);

async function bestOnDevelopment(encoder: Encoder): Promise<ModelOptions> {
  let best: { macroF1: number; options: ModelOptions } = { macroF1: -1, options: {} };
  for (const l2 of [0.1, 0.3, 1, 3])
    for (const claimWeight of [0, 1])
      for (const postWeight of [1, 2, 4]) {
        const settings = { classifier: { l2 }, claimWeight, postWeight };
        const { macroF1 } = await heldOutScores({ event: options.development, encoder, options: settings });
        if (macroF1 > best.macroF1) best = { macroF1, options: settings };
      }
  return best.options;
}

async function heldOutScores(setup: { event: string; encoder: Encoder; options: ModelOptions }) {
  const { train, tests } = disjointParts(
    { train: threads, tests: [] },
    { data: { protocol: 'events', heldOutEvents: [setup.event] } },
  );
  const model = createLocalVeracityModel({
    encoder: setup.encoder,
    options: { ...setup.options, explanationWords: 0, classifier: { ...setup.options.classifier, folds: 1 } },
  });
  await model.tune(train.flatMap(examplesOf));
  const test = tests.flatMap((each) => each.threads.flatMap(examplesOf));
  const predictions = await model.predict(test.map(({ item }) => item));
  return classificationScores({
    classes: veracityClasses.length,
    gold: test.map(({ label }) => label),
    predicted: predictions.map(({ distribution }) => likeliest(distribution)),
  });
}

function examplesOf(thread: Thread): Example<VeracityItem>[] {
  const label = veracityTask.goldLabel(thread);
  if (label === null) return [];
  const { threadId, claim, posts } = selectorClaim(thread);
  return [{ item: { threadId, claim, posts: posts.map((text) => ({ text, stance: null })) }, label, explanation: '' }];
}
