/*
 * How well the local stance model reads replies before any training: by English cues alone, and with the words that a reply
 * shares with its claim. No label is used but to score. Usage:
 *
 *   node --import tsx benchmarks/untrained-stance.ts <threads.jsonl>…
 */
import { basename } from 'node:path';
import { markdownTable } from 'markdown-table';
import { createLocalStanceModel } from '../experts/task-models/local/stance.ts';
import { likeliest, stanceClasses } from '../experts/task-models/task-model.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { classificationScores } from '../src/metrics/classification.ts';
import { createHashingEncoder } from '../src/text/hashing-encoder.ts';

// The embedding has no weight before training.
const encoder = createHashingEncoder({ dimensions: 16 });
const models = [
  ['cues', createLocalStanceModel({ encoder, options: { claimOverlap: false, explanationWords: 0 } })],
  ['cues and shared words', createLocalStanceModel({ encoder, options: { explanationWords: 0 } })],
] as const;

const rows: string[][] = [];
for (const path of process.argv.slice(2)) {
  const threads = await loadThreads(path, { skipInvalid: true });
  const items = threads.flatMap(({ id, posts: [claim, ...replies] }) =>
    replies.flatMap(({ text, stance }) =>
      stance === null
        ? []
        : [{ item: { threadId: id, claim: claim.text, post: text }, label: stanceClasses.indexOf(stance) }],
    ),
  );
  const gold = Int32Array.from(items, ({ label }) => label);
  for (const [name, model] of models) {
    const predictions = await model.predict(items.map(({ item }) => item));
    const predicted = Int32Array.from(predictions, ({ distribution }) => likeliest(distribution));
    const { macroF1, perClass } = classificationScores({ classes: stanceClasses.length, gold, predicted });
    const f1 = perClass.map((own) => own.f1.toFixed(3));
    rows.push([basename(path), String(items.length), name, macroF1.toFixed(3), ...f1]);
  }
}
console.log(markdownTable([['data', 'replies', 'read', 'macro-F1', ...stanceClasses], ...rows]));
