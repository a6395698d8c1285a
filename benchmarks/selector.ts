/*
 * Seconds an epoch of the selector over 1,000 claims with 20 replies each, and the memory it holds, with local task models
 * as in experiments/recipes/jsdrv-tables.yaml. Usage:
 *
 *   node --import tsx benchmarks/selector.ts [--claims 1000] [--replies 20] [--epochs 6] [--rewards claim,reward-to-go]
 *
 * Exits 1 when an epoch takes 60 s or more, or when the memory in use after any epoch from the fourth on is more than 5%
 * above the most of the first three, which fill caches of bounded size. The hash of all that was learnt tells whether a
 * change to the code changed results.
 *
 * Planted replies are short and alike, which flatters caches: each gets twelve words more, by Zipf's law.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { markdownTable } from 'markdown-table';
import { selectorClaims } from '../experiments/selector/data.ts';
import { createLocalStanceModel } from '../experts/task-models/local/stance.ts';
import { createLocalVeracityModel } from '../experts/task-models/local/veracity.ts';
import { stanceClasses, type TaskModel } from '../experts/task-models/task-model.ts';
import { plantedStances } from '../src/data/synthetic/planted-stances.ts';
import type { Thread } from '../src/data/thread.ts';
import { Random } from '../src/tensor/random.ts';
import { EmbeddingStore } from '../src/text/embedding-store.ts';
import { createHashingEncoder } from '../src/text/hashing-encoder.ts';
import { workContext } from '../src/work-context.ts';
import { selectorSchema } from '../trainers/selector/config.ts';
import { createSelector } from '../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../trainers/selector/setup.ts';

const limitSeconds = 60;
const allowedGrowth = 1.05;
const fillingEpochs = 3;
const seed = 1;
const phases = ['pretraining', 'stances', 'embedding', 'questions', 'stance tuning', 'veracity tuning'] as const;

const { values: options } = parseArgs({
  options: {
    claims: { type: 'string', default: '1000' },
    replies: { type: 'string', default: '20' },
    epochs: { type: 'string', default: '6' },
    rewards: { type: 'string', default: 'claim,reward-to-go' },
  },
});
const epochs = Number(options.epochs);
if (!(epochs > fillingEpochs)) throw new Error(`--epochs must be at least ${fillingEpochs + 1}, to see memory grow`);
setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

const { train, pretraining } = plantedStances({ threads: Number(options.claims), replies: Number(options.replies) });
const claims = selectorClaims(longer(train), { seedShare: 0.5, seed });
const stancePretraining = pretraining.map(({ id, labels, posts }) => ({
  item: { threadId: id, claim: '', post: posts[0].text },
  label: stanceClasses.indexOf(labels?.stance as (typeof stanceClasses)[number]),
  explanation: '',
}));
const limitsHold: boolean[] = [];
for (const postReward of options.rewards.split(',')) limitsHold.push(await measure(postReward));
process.exitCode = limitsHold.every(Boolean) ? 0 : 1;

async function measure(postReward: string): Promise<boolean> {
  const clock = phaseClock();
  const encoder = createHashingEncoder({ dimensions: 256 });
  const directory = mkdtempSync(join(tmpdir(), 'earshot-selector-'));
  const embeddings = await EmbeddingStore.open({ encoder, directory });
  const wordEncoder = () => createHashingEncoder({ dimensions: 2048, characterNgrams: { weight: 0 } });
  const trainer = createSelector({
    claims,
    stanceModel: timed(createLocalStanceModel({ encoder: wordEncoder() }), {
      clock,
      predicting: 'stances',
      tuning: 'stance tuning',
    }),
    veracityModel: timed(createLocalVeracityModel({ encoder: wordEncoder() }), {
      clock,
      predicting: 'questions',
      tuning: 'veracity tuning',
    }),
    stancePretraining,
    embedTexts: (texts) => clock.time('embedding', () => embeddings.embed(texts)),
    embedExplanations: (texts) => clock.time('embedding', () => encoder.encode(texts)),
    dimensions: encoder.dimensions,
    config: selectorSchema.parse({
      epochs,
      postReward,
      learningRate: 0.01,
      agreement: 'cosine',
      entropy: 0.02,
      stopAfterFullRewards: null,
    }),
    seed,
  });

  const rows: string[][] = [];
  const seconds: number[] = [];
  const megabytes: number[] = [];
  let startedMs = performance.now();
  const { training } = trainer;
  while (trainer.iteration < trainer.iterations) {
    await trainer.iterate(workContext());
    const posts = trainer.selection?.posts ?? [];
    const { pretraining: pretrainingMs, ...spentMs } = clock.lap();
    const epochMs = performance.now() - startedMs - pretrainingMs;
    const choosingMs = epochMs - Object.values(spentMs).reduce((sum, ms) => sum + ms, 0);
    await collectGarbage();
    seconds.push(epochMs / 1000);
    megabytes.push(megabytesInUse());
    const retained = posts.filter(({ isRetained }) => isRetained).length;
    rows.push([
      String(training.epoch),
      ...[epochMs, ...Object.values(spentMs), choosingMs].map((ms) => (ms / 1000).toFixed(2)),
      String(retained),
      megabytes[megabytes.length - 1].toFixed(1),
      (process.resourceUsage().maxRSS / 1024).toFixed(0),
    ]);
    startedMs = performance.now();
  }
  rmSync(directory, { recursive: true });

  const title = ['epoch', 'seconds', ...phases.slice(1), 'choosing', 'retained', 'in use, MB', 'peak memory, MB'];
  console.log(`\npostReward ${postReward}: learnt ${hashOf(training)}`);
  console.log(markdownTable([title, ...rows], { align: title.map(() => 'r') }));
  const slowest = Math.max(...seconds);
  const growth = Math.max(...megabytes.slice(fillingEpochs)) / Math.max(...megabytes.slice(0, fillingEpochs));
  const isFast = slowest < limitSeconds;
  const isBounded = growth <= allowedGrowth;
  console.log(`slowest epoch ${slowest.toFixed(1)} s, limit ${limitSeconds} s: ${isFast ? 'holds' : 'BROKEN'}`);
  console.log(`memory grew ${growth.toFixed(3)}-fold, limit ${allowedGrowth}: ${isBounded ? 'holds' : 'BROKEN'}`);
  return isFast && isBounded;
}

/** Milliseconds by phase. */
function phaseClock() {
  const zeros = () => Object.fromEntries(phases.map((phase) => [phase, 0])) as Record<Phase, number>;
  let spentMs = zeros();
  return {
    async time<Result>(phase: Phase, work: () => Promise<Result>): Promise<Result> {
      const startedMs = performance.now();
      const result = await work();
      spentMs[phase] += performance.now() - startedMs;
      return result;
    },
    /** Of since the last lap. */
    lap() {
      const lap = spentMs;
      spentMs = zeros();
      return lap;
    },
  };
}
type Phase = (typeof phases)[number];

function timed<Item>(
  model: TaskModel<Item>,
  { clock, predicting, tuning }: { clock: ReturnType<typeof phaseClock>; predicting: Phase; tuning: Phase },
): TaskModel<Item> {
  return {
    ...model,
    predict: (items) => clock.time(predicting, () => model.predict(items)),
    pretrain: (examples) => clock.time('pretraining', () => model.pretrain(examples)),
    tune: (examples) => clock.time(tuning, () => model.tune(examples)),
  };
}

/** Memory of typed arrays is freed a turn after they are; memory on weak keys, by the next collection. */
async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    gc();
    await nextTurn();
  }
}

/** Typed arrays lie outside the heap. */
function megabytesInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

function hashOf({ policies, settings }: SelectorTraining): string {
  const hash = createHash('sha256');
  for (const { parameters } of Object.values(policies)) hash.update(parameters);
  for (const model of [settings.stanceModel, settings.veracityModel])
    for (const { data } of Object.values(model.state().arrays)) hash.update(data);
  return hash.digest('hex').slice(0, 12);
}

/** The r-th of 5,000 words comes about 1/r as often as the first. */
function longer(threads: readonly Thread[]): Thread[] {
  const random = Random.seeded({ seed, purpose: 'longer replies' });
  const word = () => `w${Math.floor(5000 ** random.uniform())}`;
  return threads.map((thread) => ({
    ...thread,
    posts: thread.posts.map((post, index) =>
      index === 0 ? post : { ...post, text: [post.text, ...Array.from({ length: 12 }, word)].join(' ') },
    ),
  }));
}
