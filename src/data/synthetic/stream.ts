/*
 * A made-up stream of threads whose best stopping rule can be computed, so that a trained one can be compared with it.
 *
 * A thread is a rumor with probability rumorShare; its length does not depend on that. With probability misleadingShare
 * its early phase misleads; with probability slowShare its evidence comes late, and its first slowPosts posts are neutral.
 * Each other post, the claim included, is neutral with probability neutralShare (some of these are
 * off topic). Otherwise it speaks for or against a rumor: rightly with probability earlyAccuracy, or misleadingAccuracy
 * in a misleading thread, among the first earlyPosts posts, and with lateAccuracy after. Words, stances and times
 * depend only on that evidence and the position, so `bayesPosterior` and `optimalStopping` are exact.
 */
import { Random } from '../../tensor/random.ts';
import type { Post, Thread } from '../thread.ts';
import { evidenceProbabilities, type SyntheticEvidence, type ThreadKind } from './evidence.ts';
import { lengthProbabilities, type SyntheticModel, type SyntheticOptions, syntheticModel } from './options.ts';
import { composePost, stories } from './words.ts';

export { bayesPosterior, evidenceOf, type SyntheticEvidence } from './evidence.ts';
export { applyStoppingRule, optimalStopping } from './optimal-stopping.ts';
export { type SyntheticOptions, syntheticOptionsSchema } from './options.ts';

/**
 * Makes the threads of a stream. Equal options give equal threads, and `labels` marks threads that mislead and threads
 * whose evidence comes late.
 * @throws InputError for an option that is unknown or out of range
 */
export function synthesizeThreads(options: SyntheticOptions = {}): Thread[] {
  const model = syntheticModel(options);
  const random = Random.seeded({ seed: model.seed, purpose: 'synthetic stream' });
  const lengths = lengthProbabilities(model);
  return Array.from({ length: model.threads }, (_, index) => synthesizeThread(index, { model, random, lengths }));
}

function synthesizeThread(
  index: number,
  { model, random, lengths }: { model: SyntheticModel; random: Random; lengths: Float64Array },
): Thread {
  const id = `synthetic-${model.seed}-${index + 1}`;
  const rumor = random.uniform() < model.rumorShare;
  const misleading = random.uniform() < model.misleadingShare;
  const slow = random.uniform() < model.slowShare;
  const kind = { rumor, misleading, slow };
  const event = random.integer(model.events);
  const length = drawIndex(lengths, random);
  let timeMs = Date.UTC(2024, 0, 1) + random.integer(90 * 24 * 3600) * 1000;
  const posts = Array.from({ length }, (_, post): Post => {
    const evidence = drawEvidence({ kind, post }, { model, random });
    const distractor = evidence === 'neutral' && post > 0 && random.uniform() < model.distractorShare;
    if (post > 0) timeMs += gapMs(post, random);
    return {
      id: post === 0 ? id : `${id}-${post}`,
      time: new Date(timeMs).toISOString(),
      author: post === 0 ? 'u1' : `u${1 + random.integer(length)}`,
      // Most replies answer the claim, the others an earlier reply.
      parent: post === 0 ? null : random.uniform() < 0.6 || post === 1 ? id : `${id}-${1 + random.integer(post - 1)}`,
      text: composePost({ evidence, distractor, event, claim: post === 0 }, random),
      stance: post === 0 ? 'support' : drawStance({ evidence, early: post < model.earlyPosts }, random),
    };
  });
  return {
    id,
    event: stories[event].name,
    veracity: rumor ? 'false' : 'non-rumor',
    rumor,
    labels: { misleading, slow },
    posts,
  };
}

function drawEvidence(
  about: { kind: ThreadKind; post: number },
  { model, random }: { model: SyntheticModel; random: Random },
): SyntheticEvidence {
  const chances = evidenceProbabilities(about, model);
  const drawn = random.uniform();
  if (drawn < chances.neutral) return 'neutral';
  return drawn < chances.neutral + chances.rumor ? 'rumor' : 'nonRumor';
}

/** Doubters ask at first and deny later. A little noise prevents the stance from equalling the evidence. */
function drawStance(post: { evidence: SyntheticEvidence; early: boolean }, random: Random): Post['stance'] {
  if (post.evidence === 'neutral' || random.uniform() < 0.1) return 'comment';
  if (post.evidence === 'nonRumor') return 'support';
  return random.uniform() < (post.early ? 0.6 : 0.15) ? 'query' : 'deny';
}

/** The gaps between replies: exponential, with a mean that grows from 90 seconds by 18% per post. */
function gapMs(post: number, random: Random): number {
  return Math.ceil(-Math.log(1 - random.uniform()) * 90_000 * 1.18 ** (post - 1));
}

/** Draws an index by the probabilities. A rounding error in their sum draws the last possible one. */
export function drawIndex(probabilities: ArrayLike<number>, random: Random): number {
  let left = random.uniform();
  let last = 0;
  for (let index = 0; index < probabilities.length; index++) {
    left -= probabilities[index];
    if (left < 0) return index;
    if (probabilities[index] > 0) last = index;
  }
  return last;
}
