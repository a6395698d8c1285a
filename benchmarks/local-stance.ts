/*
 * How well the local stance model reads replies: before any training, by what English cues and the words shared with the claim
 * tell, and tuned on human stances of other threads or other events, with and without what else a reply shows. Usage:
 *
 *   node --import tsx benchmarks/local-stance.ts [--tuned threads|events] <threads.jsonl>…
 *
 * `--tuned threads` tunes on four of five parts of the threads and scores the fifth, five times; `--tuned events` holds out
 * one event of a hundred stances or more at a time. Scores are of all held-out replies together.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { replyExamples } from '../experiments/selector/data.ts';
import { createLocalStanceModel } from '../experts/task-models/local/stance.ts';
import { type Example, likeliest, type StanceItem, stanceClasses } from '../experts/task-models/task-model.ts';
import { groupBy } from '../src/data/group-by.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { classificationScores } from '../src/metrics/classification.ts';
import { Random } from '../src/tensor/random.ts';
import { createHashingEncoder } from '../src/text/hashing-encoder.ts';

const { values: options, positionals } = parseArgs({
  options: { tuned: { type: 'string' } },
  allowPositionals: true,
});
const fewestStances = 100;

const readings = [
  ['cues', { claimOverlap: false, replyFeatures: false }],
  ['cues, words shared with the claim', { replyFeatures: false }],
  ['the same, and what else a reply shows', {}],
] as const;
// Without training, all else has no weight.
const shown = options.tuned === undefined ? readings.slice(0, 2) : readings;

const rows: string[][] = [];
for (const path of positionals) {
  const threads = (await loadThreads(path, { skipInvalid: true })).filter((thread) => replyExamples(thread).length > 0);
  for (const [name, reading] of shown) {
    const scored: { gold: number; predicted: number }[] = [];
    for (const part of partsOf(threads)) {
      const model = createLocalStanceModel({
        // Hashed words, as in the recipes on real threads.
        encoder: createHashingEncoder({ dimensions: 2048, characterNgrams: { weight: 0 } }),
        // What is scored is never tuned on, so no fold has to be held out within.
        options: { ...reading, explanationWords: 0, classifier: { folds: 1 } },
      });
      if (options.tuned !== undefined)
        await model.tune(threads.filter((thread) => !part.includes(thread)).flatMap(replyExamples));
      scored.push(...(await score(model, part.flatMap(replyExamples))));
    }
    const { macroF1, perClass } = classificationScores({
      classes: stanceClasses.length,
      gold: scored.map(({ gold }) => gold),
      predicted: scored.map(({ predicted }) => predicted),
    });
    const f1 = perClass.map((own) => own.f1.toFixed(3));
    rows.push([basename(path), String(scored.length), name, macroF1.toFixed(3), ...f1]);
  }
}
console.log(markdownTable([['data', 'replies', 'read', 'macro-F1', ...stanceClasses], ...rows]));

/** What is held out, one part after the other. */
function partsOf(threads: readonly Thread[]): (readonly Thread[])[] {
  if (options.tuned === undefined) return [threads];
  if (options.tuned === 'events') {
    const events = groupBy(threads, ({ event }) => event);
    events.delete(null);
    return [...events.values()].filter((own) => own.flatMap(replyExamples).length >= fewestStances);
  }
  if (options.tuned !== 'threads') throw new Error(`--tuned ${options.tuned}: it must be threads or events`);
  const order = Random.seeded({ seed: 1, purpose: 'parts of threads' }).shuffled(threads);
  return [0, 1, 2, 3, 4].map((part) => order.filter((_, index) => index % 5 === part));
}

async function score(
  model: ReturnType<typeof createLocalStanceModel>,
  examples: readonly Example<StanceItem>[],
): Promise<{ gold: number; predicted: number }[]> {
  const predictions = await model.predict(examples.map(({ item }) => item));
  return examples.map(({ label }, index) => ({ gold: label, predicted: likeliest(predictions[index].distribution) }));
}
