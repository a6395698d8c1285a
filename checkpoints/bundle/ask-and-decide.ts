import { lastJudgementFeatures } from '../../src/data/last-judgement.ts';
import type { Golden } from './golden.ts';
import type { Manifest } from './manifest.ts';

/*
 * An agent that is told what its detector says: the detector is asked at listed posts until the agent stops, and at the stop
 * unless it was just asked there.
 */

/** What a detector says. */
export interface Said {
  /** Null where it gives none. */
  readonly label: string | null;
  /** Of every label; null where it gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
}

export interface Verdict {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>>;
}

/** A detector that gives no label gives no verdict. */
export function verdictOfSaid({ label, probabilities }: Said): Verdict | null {
  return label === null ? null : { label, probabilities: probabilities ?? {} };
}

/** Whether the agent is told its detector's judgements. */
export function isTold({ state }: Manifest): boolean {
  return (state.judgement ?? null) !== null;
}

/** What an agent decides of a thread, and how often the detector was asked. */
export async function askAndDecide<Post>(
  posts: readonly Post[],
  options: {
    manifest: Manifest;
    judge: (posts: readonly Post[]) => Promise<Said>;
    /** π(stop) at each of the first posts, given what was said of them; [told.length]. */
    probabilities: (told: readonly (Said | undefined)[]) => Promise<Float32Array>;
  },
) {
  const { manifest, judge, probabilities } = options;
  const { asked, maxPosts } = askedIn(manifest);
  const told: (Said | undefined)[] = [];
  const lengths = asked.filter((length) => length <= posts.length);
  let calls = 0;
  let stopStep = posts.length - 1;
  let stopProbability: Float32Array = new Float32Array(0);
  let stopped = false;
  for (const from of lengths[0] === 1 ? lengths : [1, ...lengths]) {
    told.length = from;
    if (lengths.includes(from)) {
      told[from - 1] = await judge(posts.slice(0, from));
      calls++;
    }
    told.length = (lengths.find((length) => length > from) ?? posts.length + 1) - 1;
    stopProbability = actedUpon(await probabilities(Array.from(told)), manifest);
    const stop = stopProbability.findIndex((probability) => probability > 0.5);
    if (stop < 0) continue;
    stopStep = stop;
    stopped = true;
    break;
  }
  const length = Math.min(stopStep + 1, maxPosts);
  const last = told[length - 1] ?? (await judge(posts.slice(0, length)));
  if (told[length - 1] === undefined) calls++;
  stopProbability = stopProbability.slice(0, stopStep + 1);
  return { stopStep, stopped, stopProbability, verdict: verdictOfSaid(last), calls };
}

/**
 * The probabilities with 0 where the agent does not act.
 * @param before posts of the thread that come before those of the probabilities
 */
export function actedUpon(stopProbability: Float32Array, manifest: Manifest, before = 0): Float32Array {
  if (manifest.state.judgement?.actsAt !== 'asked-posts') return stopProbability;
  const asked = new Set(manifest.state.judgement.asked);
  return stopProbability.map((probability, index) => (asked.has(before + index + 1) ? probability : 0));
}

/** A function that reads the posts of a thread one by one and says what the detector says where it is asked. */
export function sayingWhenAsked(read: (text: string) => Said, manifest: Manifest): (text: string) => Said | undefined {
  const asked = new Set(askedIn(manifest).asked);
  let posts = 0;
  return (text) => {
    posts++;
    const said = read(text);
    return asked.has(posts) ? said : undefined;
  };
}

/** The numbers that the judgements add to the states, row-major [posts, labels + 3]; none where the agent is not told. */
export function toldFeatures(told: readonly (Said | undefined)[], manifest: Manifest): Float32Array {
  if (!isTold(manifest)) return new Float32Array(0);
  const { labels } = manifest.task;
  const probabilities = new Float32Array(told.length * labels.length).fill(Number.NaN);
  for (const [index, said] of told.entries())
    for (const [label, name] of labels.entries())
      probabilities[index * labels.length + label] = said?.probabilities?.[name] ?? Number.NaN;
  const predicted = told.map((said) => labels.indexOf(said?.label ?? ''));
  const { asked } = askedIn(manifest);
  return lastJudgementFeatures({ predicted, probabilities }, { labels: labels.length, asked, posts: told.length });
}

/** The detector of a golden thread: it says what it said when the bundle was made. */
export function saidBefore(
  { judgements }: Golden,
  labels: readonly string[],
): ((posts: readonly unknown[]) => Promise<Said>) | undefined {
  if (judgements === undefined) return undefined;
  return async (posts) => {
    const said = judgements.find((own) => own.posts === posts.length);
    const { label = null, probabilities = null } = said ?? {};
    return {
      label,
      probabilities: probabilities && Object.fromEntries(labels.map((name, index) => [name, probabilities[index]])),
    };
  };
}

function askedIn({ state }: Manifest) {
  const { judgement } = state;
  return judgement ?? { asked: [], maxPosts: state.maxPosts };
}
