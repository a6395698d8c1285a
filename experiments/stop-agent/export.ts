import { readFileSync } from 'node:fs';
import { type Golden, isTied } from '../../checkpoints/bundle/golden.ts';
import { bundleFiles, bundleFormat, bundleFormatVersion, type Manifest } from '../../checkpoints/bundle/manifest.ts';
import { type PolicyNetwork, policyHalf, projectedStates, widthOf } from '../../checkpoints/bundle/network.ts';
import { onnxModel } from '../../checkpoints/bundle/onnx-model.ts';
import { checkParity, type Parity } from '../../checkpoints/bundle/parity.ts';
import { loadPolicy } from '../../checkpoints/bundle/policy.ts';
import { policyCard } from '../../checkpoints/bundle/policy-card.ts';
import { hashingModelSchema } from '../../checkpoints/bundle/prefix-reader.ts';
import { unicodeThreads } from '../../checkpoints/bundle/unicode-threads.ts';
import { bundleContents, checkFree, weightsFile, writeBundle } from '../../checkpoints/bundle/write-bundle.ts';
import { provenance } from '../../checkpoints/run-record.ts';
import { CONTINUE, stateRow } from '../../envs/state-table.ts';
import { floatsToBase64 } from '../../experts/detectors/local/local-detector.ts';
import type { LocalDetectorOptions } from '../../experts/detectors/local/train-local-detector.ts';
import { type JudgementSequence, judgementSequence } from '../../experts/judgement-sequence.ts';
import { askedLengths } from '../../experts/prefix-schedule.ts';
import { lastJudgementFeatureCount, lastJudgementMeaning } from '../../src/data/last-judgement.ts';
import { tellsPostCount } from '../../src/data/post-pooling.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';
import { characterTable } from '../../src/text/character-table.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { greedyStop, stopProbabilitiesOfStates } from '../../trainers/stop-agent/policy.ts';
import { actionTexts } from '../../trainers/stop-agent/states.ts';
import { judgeForTraining, judgeOfRun } from '../judging/judge-for-training.ts';
import { systemsTable } from '../report/systems-table.ts';
import { localModelOfRun } from './cache.ts';
import { scoresJson } from './metrics.ts';
import { type OpenedRun, openStopAgentRun } from './open-run.ts';
import { readTrialResult, type TrialResult } from './result.ts';
import { testThreadsOfRun, trainedThreads } from './run-threads.ts';

/** Test threads among the golden ones, and posts of each: enough to notice a difference, few enough to load at a start. */
const goldenTestThreads = 16;
const goldenPosts = 20;

/** Random states that parity is checked on. */
const randomStates = 1024;

export interface ExportedBundle {
  readonly parity: Parity;
  readonly goldenThreads: number;
  /** Whether Python and JavaScript can decide from texts with the bundle alone. */
  readonly readsTexts: boolean;
}

/**
 * Writes a run's agent as a bundle that other programs load. Nothing is written unless the ONNX file decides as the
 * checkpoint does.
 * @param options.data where the run's data is now; null for the place that its configuration names
 * @param options.runs folder with the shared cache
 * @throws InputError when the run, its test threads or the folder cannot be used; Error that says where the ONNX file and
 *   the checkpoint differ
 */
export async function exportRun(options: {
  run: string;
  out: string;
  data: string | null;
  runs: string;
  context: WorkContext;
}): Promise<ExportedBundle> {
  const { out, data, context } = options;
  checkFree(out);
  const opened = await openStopAgentRun(options);
  const { run, experiment, policy, seed, step } = opened;
  const network = policyHalf(policy, opened.projection);
  const scoreStates = (states: Float32Array) =>
    stopProbabilitiesOfStates(policy, { data: projectedStates(network, states), columns: widthOf(network) });
  const tested = (await testThreadsOfRun(run, { data, context })).slice(0, goldenTestThreads);
  const told = await toldOf(tested, opened, context);
  // Language models are not asked for the sake of an export: then the golden threads are those they have judged.
  const made = opened.schedule !== null && told.detector === null ? [] : unicodeThreads.map(threadOfTexts);
  const golden = await goldenThreads([...tested.map(firstPosts), ...made], {
    ...opened,
    judge: told.judge,
    scoreStates,
  });
  const probes = [golden.states, random(network), extreme(network)];
  const named = await Promise.all(
    probes.map(async (states, index) => ({
      name: ['golden', 'random', 'extreme'][index],
      states,
      columns: network.inputs,
      expected: await scoreStates(states),
    })),
  );
  const onnx = onnxModel(network);
  const parity = await checkParity(onnx, named);

  const result = run.isFinished() ? readTrialResult(run, { withIntervals: true }) : null;
  const models = await modelFiles(opened);
  const characters = characterTable();
  const { earshot, git } = provenance();
  const encoder = experiment.state.posts === 'none' ? null : opened.cache.embeddings.encoderIdentity;
  const readsTexts =
    (encoder === null || encoder.name === 'hashing') && (!experiment.state.student || models.student !== null);
  const manifest: Omit<Manifest, 'sha256' | 'files'> = {
    format: bundleFormat,
    formatVersion: bundleFormatVersion,
    madeBy: { earshot, commit: git?.commit ?? null, unicode: characters.unicode },
    task: { name: opened.task.name, labels: [...opened.task.labels] },
    encoder,
    state: stateDefinition(opened),
    rule: 'stop at the first post at which the probability of stop exceeds one half, given that every action before was "continue"; else at the last post',
    student: models.student === null ? null : bundleFiles.student,
    detector: models.detector === null ? null : bundleFiles.detector,
    readsTexts,
    training: { seed, step, experiment, hashes: run.readRecord().hashes },
    measures: result === null ? null : measuresOf(result),
    parity: { ...parity, batches: [...parity.batches] },
  };
  const card = policyCard(manifest, {
    data: dataInWords(opened),
    threads: result?.threads ?? {},
    table: result === null ? null : systemsTable(result.systems),
  });
  const contents = await bundleContents({
    manifest,
    files: {
      [bundleFiles.onnx]: onnx,
      [bundleFiles.weights]: weightsFile(network),
      [bundleFiles.golden]: golden.lines,
      [bundleFiles.characters]: `${JSON.stringify(characters)}\n`,
      [bundleFiles.trained]: `${JSON.stringify([...(await trainedThreads(run))].sort())}\n`,
      [bundleFiles.python]: readFileSync(pythonReader),
      [bundleFiles.card]: card,
      ...(models.student !== null && { [bundleFiles.student]: models.student }),
      ...(models.detector !== null && { [bundleFiles.detector]: models.detector }),
    },
  });
  // The reader in JavaScript decides the golden threads again; the one in Python does so when it loads.
  await loadPolicy({
    read: async (name) => contents.get(name) ?? new Uint8Array(0),
    embed: encoder?.name === 'hashing' ? undefined : (texts) => opened.cache.embeddings.embed(texts),
  });
  writeBundle(out, contents);
  return { parity, goldenThreads: golden.count, readsTexts };
}

const pythonReader = new URL('../../checkpoints/bundle/earshot_policy.py', import.meta.url);

/** What a run's detector says of threads, where its agent is told; language models are not asked again. */
async function toldOf(threads: readonly Thread[], { run, experiment, cache, task }: OpenedRun, context: WorkContext) {
  if (!('file' in experiment.detector)) {
    const { encoder } = experiment.detector;
    const detector = await localModelOfRun(run.path, { name: 'detector.json', encoder, cache });
    const judge = async (thread: Thread) =>
      judgementSequence({
        threadId: thread.id,
        labels: task.labels,
        judgements: await inTurn(thread.posts.length, (index) => detector.judge(prefixOf(thread, index + 1))),
      });
    return { detector, judge };
  }
  const { sequences } = await judgeForTraining({
    judge: await judgeOfRun(run, { experiment, cache }),
    threads,
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    context,
  });
  return { detector: null, judge: async ({ id }: Thread) => sequences.get(id) };
}

async function inTurn<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let index = 0; index < count; index++) made.push(await make(index));
  return made;
}

/** What the checkpoint decides of some threads, a thread a line, with all states for parity. Ties are left out. */
async function goldenThreads(
  threads: readonly Thread[],
  {
    tableOf,
    schedule,
    experiment,
    judge,
    scoreStates,
  }: OpenedRun & {
    judge: (thread: Thread) => Promise<JudgementSequence | undefined>;
    scoreStates: (raw: Float32Array) => Promise<Float32Array>;
  },
) {
  const sequences = new Map<string, JudgementSequence>();
  if (schedule !== null)
    for (const thread of threads) {
      const sequence = await judge(thread);
      if (sequence !== undefined) sequences.set(thread.id, sequence);
    }
  const table = await tableOf(threads, { sequences, everyPost: true, beforeProjection: true });
  const { columns } = table;
  const lines: string[] = [];
  const all: Float32Array[] = [];
  for (const [thread, { id, posts }] of threads.entries()) {
    const asked =
      schedule === null ? null : askedLengths({ schedule, posts: Math.min(posts.length, experiment.maxJudgedPosts) });
    const actsAt = experiment.state.actsAt === 'asked-posts' && asked !== null ? new Set(asked) : null;
    const states = new Float32Array(posts.length * columns);
    for (let step = 0; step < posts.length; step++) {
      const row = stateRow(table, { thread, step, previous: CONTINUE }) * columns;
      states.set(table.data.subarray(row, row + columns), step * columns);
    }
    const stopProbability = await scoreStates(states);
    if (actsAt !== null) for (const step of posts.keys()) if (!actsAt.has(step + 1)) stopProbability[step] = 0;
    if (isTied(stopProbability)) continue;
    const golden: Golden = {
      threadId: id,
      texts: posts.map(({ text }) => text),
      states: floatsToBase64(states),
      stopProbability: [...stopProbability],
      stopStep: greedyStop(stopProbability),
      ...(asked !== null && { judgements: goldenJudgements(sequences.get(id), asked) }),
    };
    lines.push(`${JSON.stringify(golden)}\n`);
    all.push(states);
  }
  return { lines: lines.join(''), states: joined(all), count: lines.length };
}

function goldenJudgements(sequence: JudgementSequence | undefined, asked: readonly number[]) {
  if (sequence === undefined) return [];
  const { labels, predicted, probabilities } = sequence;
  return asked.map((posts) => {
    const row = [...probabilities.subarray((posts - 1) * labels.length, posts * labels.length)];
    return { posts, label: labels[predicted[posts - 1]] ?? null, probabilities: row.some(Number.isNaN) ? null : row };
  });
}

function firstPosts(thread: Thread): Thread {
  return { ...thread, posts: thread.posts.slice(0, goldenPosts) };
}

function threadOfTexts({ id, texts }: { id: string; texts: readonly string[] }): Thread {
  const posts = texts.map((text, index) => ({
    id: `${id}:${index + 1}`,
    time: null,
    author: null,
    parent: null,
    text,
    stance: null,
  }));
  return { id, event: null, veracity: null, rumor: null, posts };
}

/** Normal about the states of the training, twice as wide. */
function random(network: PolicyNetwork): Float32Array {
  const { inputs, projection, moments } = network;
  const width = widthOf(network);
  const draws = Random.seeded({ seed: 1, purpose: 'parity' });
  const at = (values: Float64Array, column: number) => values[values.length === 1 ? 0 : column];
  const seen = Float32Array.from({ length: randomStates * width }, (_, index) => {
    const column = index % width;
    return at(moments.mean, column) + 2 * Math.sqrt(at(moments.variance, column)) * draws.normal();
  });
  if (projection === null) return seen;
  // The projection's columns are orthonormal, so these raw states have those components.
  return Float32Array.from({ length: randomStates * inputs }, (_, index) => {
    const [row, input] = [Math.floor(index / inputs), index % inputs];
    let value = 0;
    for (let column = 0; column < width; column++)
      value += seen[row * width + column] * projection[input * width + column];
    return value;
  });
}

/** Zeros, the smallest and largest numbers of either sign in all columns, then one huge column at a time. */
function extreme({ inputs }: PolicyNetwork): Float32Array {
  const everywhere = [0, 1e-38, -1e-38, 1, -1, 10, -10, 1e30, -1e30, 3.4e38, -3.4e38];
  const single = Math.min(inputs, 64);
  return joined([
    ...everywhere.map((value) => new Float32Array(inputs).fill(value)),
    ...Array.from({ length: 2 * single }, (_, index) => {
      const state = new Float32Array(inputs);
      state[Math.floor((Math.floor(index / 2) * inputs) / single)] = index % 2 === 0 ? 1e30 : -1e30;
      return state;
    }),
  ]);
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    all.set(part, start);
    start += part.length;
  }
  return all;
}

/** Student and detector, as far as other programs can run them: local ones whose encoder is the hashing one. */
async function modelFiles({
  run,
  experiment,
  cache,
}: OpenedRun): Promise<{ student: string | null; detector: string | null }> {
  const fileOf = async (name: 'detector.json' | 'student.json', { encoder }: LocalDetectorOptions) => {
    const { model } = await localModelOfRun(run.path, { name, encoder, cache });
    return hashingModelSchema.safeParse(model).success ? `${JSON.stringify(model, null, 1)}\n` : null;
  };
  return {
    student: experiment.state.student ? await fileOf('student.json', experiment.state.studentOptions) : null,
    detector: 'file' in experiment.detector ? null : await fileOf('detector.json', experiment.detector),
  };
}

const pooledInWords = {
  none: 'no posts',
  sum: 'sum of the embeddings of the posts seen',
  mean: 'mean of the embeddings of the posts seen',
  sqrt: 'sum of the embeddings of the k posts seen over √k',
} as const;

function stateDefinition({ experiment, cache, task, policy, projection, schedule }: OpenedRun): Manifest['state'] {
  const { posts: pooling } = experiment.state;
  const dimensions = pooling === 'none' ? 0 : cache.embeddings.dimensions;
  const columns = policy.parameters.w1.rows + (projection === null ? 0 : projection.inputs - projection.components);
  const counted = pooling !== 'none' && tellsPostCount(pooling) ? 1 : 0;
  const told = schedule === null ? 0 : lastJudgementFeatureCount(task.labels.length);
  const [first, ...others] = task.labels;
  const posts = {
    name: 'posts',
    from: 0,
    count: dimensions,
    meaning: `${pooledInWords[pooling]}; but for the first post, the embedding of the text of the previous action is added${projection === null ? '' : `; the policy sees ${projection.components} principal components of it`}`,
  };
  const postsSeen = { name: 'posts seen', from: dimensions, count: counted, meaning: 'ln of the posts seen' };
  const student = {
    name: 'student',
    from: dimensions + counted,
    count: columns - dimensions - counted - told,
    meaning: `log-odds of ${others.join(', ')} against ${first} by the student (probabilities at least 1e-4), the margin between its likeliest label and the next in log-odds, ln of the posts seen, ln of how many posts in a row its label is unchanged`,
  };
  const judgement = {
    name: 'judgement',
    from: columns - told,
    count: told,
    meaning: lastJudgementMeaning(task.labels),
  };
  const { maxPosts } = experiment.agent;
  return {
    columns,
    fields: [posts, postsSeen, student, judgement].filter(({ count }) => count > 0),
    ...(pooling !== 'none' && pooling !== 'sum' && { pooling }),
    previousActions: { continue: actionTexts[0], stop: actionTexts[1] },
    maxPosts,
    ...(schedule !== null && {
      judgement: {
        asked: askedLengths({ schedule, posts: Math.min(maxPosts, experiment.maxJudgedPosts) }),
        actsAt: experiment.state.actsAt,
        maxPosts: experiment.maxJudgedPosts,
      },
    }),
  };
}

function measuresOf({ systems }: TrialResult): Manifest['measures'] {
  return { threads: systems[0].threads, systems: systems.map((system) => ({ ...scoresJson(system) })) };
}

function dataInWords({ experiment }: OpenedRun): string {
  const { threads } = experiment.data;
  return threads === null
    ? 'Synthetic threads of Earshot: made up, not from any platform'
    : `The thread file \`${threads}\``;
}
