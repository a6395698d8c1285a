/*
 * Whether the local detector's probabilities mean what they say: the expected calibration error (ten bins of equal width) on threads
 * that it has not seen, at the first post, at a stop, in the middle and at the end. Usage:
 *
 *   node --import tsx benchmarks/calibration-error.ts --data folder [--sets weibo,twitter15,…] [--train 350] [--seeds 1,2,…]
 *     [--options '{"timing":true}']
 *
 * The sets are in local-detector-sets.ts. Each seed draws the training threads anew, and all others are tested. The stop is the first
 * post with a confidence of 0.8, otherwise the end. "One temperature" is the same detector without its calibration by length. "Exact"
 * is the error that exact probabilities would show with so few threads: labels are drawn with them.
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { LocalDetector } from '../experts/detectors/local/local-detector.ts';
import { trainLocalDetector } from '../experts/detectors/local/train-local-detector.ts';
import { prefixOf, type Thread } from '../src/data/thread.ts';
import { type ConfidentAnswer, calibration } from '../src/metrics/calibration.ts';
import { Random } from '../src/tensor/random.ts';
import { detectorSets, type Split, splitsOf } from './local-detector-sets.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    sets: { type: 'string', default: 'weibo,twitter15,twitter15-four,pheme,checked,derailment' },
    train: { type: 'string', default: '350' },
    seeds: { type: 'string', default: '31,32,33,34,35,36,37,38' },
    options: { type: 'string', default: '{}' },
  },
});
if (args.data === undefined) throw new Error('give the folder of the thread files with --data');
const { data } = args;
const seeds = args.seeds.split(',').map(Number);
const options = JSON.parse(args.options);
const stopConfidence = 0.8;
const places = ['first post', 'stop', 'middle', 'end'] as const;
const resamples = 20;

/** Answers about each tested thread at one place. */
type Answers = Record<(typeof places)[number], ConfidentAnswer[]>;
const systems = ['one temperature', 'by length'] as const;
type Trial = Record<(typeof systems)[number], Answers>;

const lines: string[][] = [];
for (const name of args.sets.split(',')) {
  const splits = await splitsOf(name, { data, seeds, train: Number(args.train), test: Number.POSITIVE_INFINITY });
  const trials: Trial[] = [];
  for (const split of splits) {
    const { seed, task } = split;
    const threads = split.train.map(({ thread }) => thread);
    const calibrated = await trainLocalDetector({ threads, task, options, seed });
    const plain = { ...calibrated.model, calibration: { scale: 1, growth: 0, mostPosts: 1 } };
    trials.push({
      'one temperature': await answersOf(new LocalDetector({ model: plain, encoder: null }), split),
      'by length': await answersOf(calibrated, split),
    });
    console.error(`${name}: seed ${seed}`);
  }
  for (const place of places) {
    const errors = systems.map((system) => trials.map((trial) => errorOf(trial[system][place])));
    const exact = trials.map((trial, index) => exactError(trial['by length'][place], seeds[index]));
    const answers = trials.flatMap((trial) => trial['by length'][place]);
    lines.push([
      place === places[0] ? `${detectorSets[name].title} (${splits[0].test.length})` : '',
      place,
      mean(answers.map(({ isRight }) => Number(isRight))).toFixed(2),
      ...errors.map((each) => `${mean(each).toFixed(3)} (${Math.max(...each).toFixed(3)})`),
      mean(exact).toFixed(3),
    ]);
  }
}
const head = ['set (tested threads)', 'at', 'accuracy', ...systems, 'exact'];
console.log(`\n${args.train} training threads, seeds ${args.seeds}: mean over the seeds (largest)\n`);
console.log(markdownTable([head, ...lines], { align: ['l', 'l'] }));

async function answersOf(detector: LocalDetector, { test, task }: Split): Promise<Answers> {
  const answers: Answers = { 'first post': [], stop: [], middle: [], end: [] };
  for (const { thread, label: gold } of test) {
    const all = await answersAt(detector, thread);
    const predictions = all.map(({ label, confidence }) => ({ confidence, isRight: label === task.labels[gold] }));
    const last = predictions.length - 1;
    answers['first post'].push(predictions[0]);
    answers.stop.push(predictions.find(({ confidence }) => confidence >= stopConfidence) ?? predictions[last]);
    answers.middle.push(predictions[last >> 1]);
    answers.end.push(predictions[last]);
  }
  return answers;
}

async function answersAt(detector: LocalDetector, thread: Thread) {
  const answers = [];
  for (const post of thread.posts.keys()) {
    const { label, probabilities } = await detector.judge(prefixOf(thread, post + 1));
    answers.push({ label, confidence: Math.max(...Object.values(probabilities ?? {})) });
  }
  return answers;
}

function errorOf(answers: readonly ConfidentAnswer[]): number {
  return calibration(answers)?.expectedError ?? Number.NaN;
}

function exactError(answers: readonly ConfidentAnswer[], seed: number): number {
  const random = Random.seeded({ seed, purpose: 'exact probabilities' });
  const drawn = Array.from({ length: resamples }, () =>
    errorOf(answers.map(({ confidence }) => ({ confidence, isRight: random.uniform() < confidence }))),
  );
  return mean(drawn);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
