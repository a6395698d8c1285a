import { type Golden, isTied } from '../../../checkpoints/policy/golden.ts';
import type { PolicyDefinition } from '../../../checkpoints/policy/policy.ts';
import { joinedStates } from '../../../checkpoints/policy/probe-states.ts';
import { policyStates, replay } from '../../../checkpoints/policy/replay.ts';
import { unicodeThreads } from '../../../checkpoints/policy/unicode-threads.ts';
import type { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { type JudgementSequence, judgementSequence } from '../../../experts/judgement-sequence.ts';
import { floatsToBase64 } from '../../../src/base64-floats.ts';
import { prefixOf, type Thread } from '../../../src/data/thread.ts';
import type { OpenedRun } from '../open-run.ts';
import { seenPosts } from '../states.ts';

/** Test threads among the golden ones, and posts of each: enough to notice a difference, few enough to load at a start. */
const goldenTestThreads = 16;
const goldenPosts = 20;

/**
 * What a policy of a run decides of some threads, one per line, with all states for parity. Ties are left out.
 * @param options.tested the run's test threads, of which the first are taken; threads of odd characters come to them
 */
export async function goldenThreads(
  opened: OpenedRun,
  { policy, tested }: { policy: PolicyDefinition; tested: readonly Thread[] },
): Promise<{ lines: string; states: Float32Array; count: number }> {
  const { materials, task } = opened;
  const detector = await opened.detector();
  const isQueried = new Set(policy.queries.lengths);
  // Language models are not asked for the sake of an export: then the golden threads are those they have judged.
  const made = isQueried.size > 0 && detector === null ? [] : unicodeThreads.map(threadOfTexts);
  const first = tested.slice(0, goldenTestThreads);
  const sequences = new Map(detector === null ? await opened.judged(first) : []);
  const lines: string[] = [];
  const all: Float32Array[] = [];
  const cut = first.map((thread) => ({ ...thread, posts: thread.posts.slice(0, goldenPosts) }));
  for (const thread of [...cut, ...made]) {
    const { id, posts } = thread;
    const sequence =
      detector === null ? sequences.get(id) : await sequenceBy(detector, { thread, labels: task.labels });
    const seen = await seenPosts(thread, { ...materials, sequence, fields: policy.fields });
    const { stop, scores, queries } = replay(policy, seen);
    if (isTied(scores, policy)) continue;
    const states = policyStates(policy, seen);
    const golden: Golden = {
      threadId: id,
      texts: posts.map(({ text }) => text),
      times: posts.map(({ time }) => time),
      states: floatsToBase64(states),
      scores: [...scores],
      postsUsed: stop.postsUsed,
      why: stop.why,
      queries,
      judgements: seen.flatMap(({ judgement }, index) => {
        if (judgement === null || !(isQueried.has(index + 1) || task.alerts !== undefined)) return [];
        const { label, probabilities } = judgement;
        const row = probabilities === null ? null : Array.from(probabilities);
        return [{ posts: index + 1, label: task.labels[label] ?? null, probabilities: row }];
      }),
    };
    lines.push(`${JSON.stringify(golden)}\n`);
    all.push(states);
  }
  return { lines: lines.join(''), states: joinedStates(all), count: lines.length };
}

/** What a detector says of every prefix. */
async function sequenceBy(
  detector: LocalDetector,
  { thread, labels }: { thread: Thread; labels: readonly string[] },
): Promise<JudgementSequence> {
  const judgements = [];
  for (const index of thread.posts.keys()) judgements.push(await detector.judge(prefixOf(thread, index + 1)));
  return judgementSequence({ threadId: thread.id, labels, judgements });
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
