import { type Golden, isTied } from '../../../checkpoints/bundle/golden.ts';
import { joinedStates } from '../../../checkpoints/bundle/probe-states.ts';
import { unicodeThreads } from '../../../checkpoints/bundle/unicode-threads.ts';
import { CONTINUE, stateRow } from '../../../envs/state-table.ts';
import { type JudgementSequence, judgementSequence } from '../../../experts/judgement-sequence.ts';
import { queriedLengths } from '../../../experts/prefix-schedule.ts';
import { floatsToBase64 } from '../../../src/base64-floats.ts';
import { prefixOf, type Thread } from '../../../src/data/thread.ts';
import type { WorkContext } from '../../../src/work-context.ts';
import { greedyStop } from '../../../trainers/stop-agent/policy.ts';
import { localModelOfRun } from '../cache.ts';
import { judgeForTraining, judgeOfRun } from '../judge-for-training.ts';
import type { OpenedRun } from '../open-run.ts';

/** Test threads among the golden ones, and posts of each: enough to notice a difference, few enough to load at a start. */
const goldenTestThreads = 16;
const goldenPosts = 20;

/**
 * What the checkpoint decides of some threads, a thread a line, with all states for parity. Ties are left out.
 * @param options.tested the run's test threads, of which the first are taken; threads of odd characters come to them
 * @param options.scoreStates stop probabilities of raw states, row-major [rows, inputs]
 */
export async function goldenThreads(
  opened: OpenedRun,
  options: {
    tested: readonly Thread[];
    scoreStates: (raw: Float32Array) => Promise<Float32Array>;
    context: WorkContext;
  },
): Promise<{ lines: string; states: Float32Array; count: number }> {
  const { tableOf, schedule, experiment } = opened;
  const { scoreStates, context } = options;
  const tested = options.tested.slice(0, goldenTestThreads);
  const told = await detectorOf(tested, opened, context);
  // Language models are not asked for the sake of an export: then the golden threads are those they have judged.
  const made = schedule !== null && told.detector === null ? [] : unicodeThreads.map(threadOfTexts);
  const threads = [...tested.map(firstPosts), ...made];
  const sequences = new Map<string, JudgementSequence>();
  if (schedule !== null)
    for (const thread of threads) {
      const sequence = await told.judge(thread);
      if (sequence !== undefined) sequences.set(thread.id, sequence);
    }
  const table = await tableOf(threads, { sequences, everyPost: true, beforeProjection: true });
  const { columns } = table;
  const lines: string[] = [];
  const all: Float32Array[] = [];
  for (const [thread, { id, posts }] of threads.entries()) {
    const lengths =
      schedule === null ? null : queriedLengths({ schedule, posts: Math.min(posts.length, experiment.maxJudgedPosts) });
    const actsAt = experiment.state.actsAt === 'queried-posts' && lengths !== null ? new Set(lengths) : null;
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
      ...(readsTimes(experiment) && { times: posts.map(({ time }) => time) }),
      states: floatsToBase64(states),
      stopProbability: [...stopProbability],
      stopStep: greedyStop(stopProbability),
      ...(lengths !== null && { judgements: goldenJudgements(sequences.get(id), lengths) }),
    };
    lines.push(`${JSON.stringify(golden)}\n`);
    all.push(states);
  }
  return { lines: lines.join(''), states: joinedStates(all), count: lines.length };
}

/** Whether the times of posts can change a decision. */
export function readsTimes({ detector, state }: OpenedRun['experiment']): boolean {
  return (!('file' in detector) && detector.timing === true) || (state.student && state.studentOptions.timing === true);
}

/** What a run's detector says of threads, where its agent observes it; language models are not asked again. */
async function detectorOf(
  threads: readonly Thread[],
  { run, experiment, cache, task }: OpenedRun,
  context: WorkContext,
) {
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

function goldenJudgements(sequence: JudgementSequence | undefined, lengths: readonly number[]) {
  if (sequence === undefined) return [];
  const { labels, predicted, probabilities } = sequence;
  return lengths.map((posts) => {
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
