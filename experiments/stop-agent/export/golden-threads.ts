import { type Golden, isTied } from '../../../checkpoints/bundle/golden.ts';
import { joinedStates } from '../../../checkpoints/bundle/probe-states.ts';
import { unicodeThreads } from '../../../checkpoints/bundle/unicode-threads.ts';
import { CONTINUE, stateRow } from '../../../envs/state-table.ts';
import type { Judgement } from '../../../experts/detector.ts';
import type { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { type JudgementSequence, judgementSequence } from '../../../experts/judgement-sequence.ts';
import { queriedLengths } from '../../../experts/prefix-schedule.ts';
import { floatsToBase64 } from '../../../src/base64-floats.ts';
import { prefixOf, type Thread } from '../../../src/data/thread.ts';
import { greedyStop } from '../../../trainers/stop-agent/policy.ts';
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
  },
): Promise<{ lines: string; states: Float32Array; count: number }> {
  const { tableOf, schedule, experiment, task } = opened;
  const { scoreStates } = options;
  const tested = options.tested.slice(0, goldenTestThreads);
  const detector = await opened.detector();
  // Language models are not asked for the sake of an export: then the golden threads are those they have judged.
  const made = schedule !== null && detector === null ? [] : unicodeThreads.map(threadOfTexts);
  const threads = [...tested.map(firstPosts), ...made];
  const sequences = new Map(detector === null ? await opened.judged(tested) : []);
  if (schedule !== null && detector !== null)
    for (const thread of threads) sequences.set(thread.id, await sequenceBy(detector, { thread, labels: task.labels }));
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

/** What a detector says of every prefix. */
async function sequenceBy(
  detector: LocalDetector,
  { thread, labels }: { thread: Thread; labels: readonly string[] },
): Promise<JudgementSequence> {
  const judgements: Judgement[] = [];
  for (const length of thread.posts.keys()) judgements.push(await detector.judge(prefixOf(thread, length + 1)));
  return judgementSequence({ threadId: thread.id, labels, judgements });
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
