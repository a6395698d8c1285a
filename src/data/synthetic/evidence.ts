import type { Thread } from '../thread.ts';
import { type SyntheticModel, type SyntheticOptions, syntheticModel } from './options.ts';
import { type SyntheticEvidence, tellingWords } from './words.ts';

export type { SyntheticEvidence };

/** All kinds of evidence, in the order in which they are enumerated. */
export const evidences: readonly SyntheticEvidence[] = ['rumor', 'nonRumor', 'neutral'];

/**
 * The evidence of the posts so far, which determines all probabilities of class and future. Early posts are counted
 * separately because misleading threads weigh them differently; of late posts only the difference matters.
 */
export interface EvidenceCounts {
  readonly posts: number;
  /** Whether one of the first slowPosts posts was telling, which never happens in a slow thread. */
  readonly isQuick: boolean;
  readonly earlyRumor: number;
  readonly earlyNonRumor: number;
  /** Late posts for a rumor minus late posts against. */
  readonly lateMargin: number;
}

/** The counts before the first post. */
export const noEvidence: EvidenceCounts = { posts: 0, isQuick: false, earlyRumor: 0, earlyNonRumor: 0, lateMargin: 0 };

/** The counts after one more post. */
export function addEvidence(
  counts: EvidenceCounts,
  next: { evidence: SyntheticEvidence; model: SyntheticModel },
): EvidenceCounts {
  const { evidence, model } = next;
  const rumor = Number(evidence === 'rumor');
  const nonRumor = Number(evidence === 'nonRumor');
  const posts = counts.posts + 1;
  const isQuick = counts.isQuick || (posts <= model.slowPosts && evidence !== 'neutral');
  return posts <= model.earlyPosts
    ? {
        ...counts,
        posts,
        isQuick,
        earlyRumor: counts.earlyRumor + rumor,
        earlyNonRumor: counts.earlyNonRumor + nonRumor,
      }
    : { ...counts, posts, isQuick, lateMargin: counts.lateMargin + rumor - nonRumor };
}

/** The hidden properties of a thread. */
export interface ThreadKind {
  readonly rumor: boolean;
  readonly misleading: boolean;
  /** Whether the evidence comes late. */
  readonly slow: boolean;
}

/** The eight kinds of thread with their posterior probabilities: posts are independent given the kind. */
function hypotheses(counts: EvidenceCounts, model: SyntheticModel): (ThreadKind & { probability: number })[] {
  const halfLogOdds = Math.log(model.lateAccuracy / (1 - model.lateAccuracy)) / 2;
  const kinds = [true, false].flatMap((rumor) =>
    [true, false].flatMap((misleading) => [true, false].map((slow): ThreadKind => ({ rumor, misleading, slow }))),
  );
  const weighted = kinds.map((kind) => {
    const earlyAccuracy = kind.misleading ? model.misleadingAccuracy : model.earlyAccuracy;
    const [right, wrong] = kind.rumor
      ? [counts.earlyRumor, counts.earlyNonRumor]
      : [counts.earlyNonRumor, counts.earlyRumor];
    const prior =
      (kind.rumor ? model.rumorShare : 1 - model.rumorShare) *
      (kind.misleading ? model.misleadingShare : 1 - model.misleadingShare) *
      slowness({ slow: kind.slow, counts }, model);
    // p^for (1−p)^against is √(odds)^margin times a factor that both classes share.
    const late = Math.exp((kind.rumor ? 1 : -1) * counts.lateMargin * halfLogOdds);
    return { ...kind, weight: prior * earlyAccuracy ** right * (1 - earlyAccuracy) ** wrong * late };
  });
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  return weighted.map(({ weight, ...kind }) => ({ ...kind, probability: weight / total }));
}

/**
 * P(a thread is slow or not, and which of its first slowPosts posts are neutral), without the factors that both share:
 * the telling posts that exclude a slow thread, and all later posts.
 */
function slowness({ slow, counts }: { slow: boolean; counts: EvidenceCounts }, model: SyntheticModel): number {
  if (counts.isQuick) return slow ? 0 : 1 - model.slowShare;
  return slow ? model.slowShare : (1 - model.slowShare) * model.neutralShare ** Math.min(counts.posts, model.slowPosts);
}

/** P(rumor | the posts so far). */
export function rumorProbability(counts: EvidenceCounts, model: SyntheticModel): number {
  return hypotheses(counts, model).reduce((sum, { rumor, probability }) => sum + (rumor ? probability : 0), 0);
}

/** P(the next post's evidence | the posts so far), if there is a next post. */
export function nextEvidence(counts: EvidenceCounts, model: SyntheticModel): Record<SyntheticEvidence, number> {
  const next = { rumor: 0, nonRumor: 0, neutral: 0 };
  for (const kind of hypotheses(counts, model)) {
    const chances = evidenceProbabilities({ kind, post: counts.posts }, model);
    for (const evidence of evidences) next[evidence] += kind.probability * chances[evidence];
  }
  return next;
}

/** P(a post's evidence | the kind of its thread); `post` is its position, from 0. */
export function evidenceProbabilities(
  { kind, post }: { kind: ThreadKind; post: number },
  model: SyntheticModel,
): Record<SyntheticEvidence, number> {
  if (kind.slow && post < model.slowPosts) return { rumor: 0, nonRumor: 0, neutral: 1 };
  const early = kind.misleading ? model.misleadingAccuracy : model.earlyAccuracy;
  const right = post < model.earlyPosts ? early : model.lateAccuracy;
  const rumor = kind.rumor ? right : 1 - right;
  const telling = 1 - model.neutralShare;
  return { rumor: telling * rumor, nonRumor: telling * (1 - rumor), neutral: model.neutralShare };
}

/** The evidence of each post of a synthetic thread, read from its words. */
export function evidenceOf(thread: Thread): SyntheticEvidence[] {
  return thread.posts.map(({ text }) => {
    const words = new Set(text.toLowerCase().split(/[^a-z]+/));
    if (tellingWords.rumor.some((word) => words.has(word))) return 'rumor';
    return tellingWords.nonRumor.some((word) => words.has(word)) ? 'nonRumor' : 'neutral';
  });
}

/**
 * The beliefs of an ideal observer, who knows how the stream is made, after each post. The evidence of a thread is read
 * from its words; `options` must be those of the stream.
 * @returns [posts]: P(rumor | the first 1, 2, … posts)
 * @throws InputError for invalid options
 */
export function bayesPosterior(stream: Thread | readonly SyntheticEvidence[], options: SyntheticOptions): Float64Array {
  const model = syntheticModel(options);
  const evidence = 'posts' in stream ? evidenceOf(stream) : stream;
  let counts = noEvidence;
  return Float64Array.from(evidence, (next) => {
    counts = addEvidence(counts, { evidence: next, model });
    return rumorProbability(counts, model);
  });
}
