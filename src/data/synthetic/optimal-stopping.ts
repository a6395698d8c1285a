/*
 * The best stopping rule of the synthetic stream, by backward induction.
 *
 * After each post the rule stops and names the likelier class, or waits for the next one. It sees the posts so far but
 * not how long the thread will be; if it waits at the last post, the thread ends there, as with a stop. The reward is
 *   1 if the class is right − delayCostPerPost · posts used − delayCostPerThread · posts used / posts in the thread.
 * Length and class are independent, so of the past only the number of posts and the evidence counts matter.
 */
import { z } from 'zod';
import { parseItem } from '../bad-item.ts';
import type { Thread } from '../thread.ts';
import {
  addEvidence,
  type EvidenceCounts,
  evidenceOf,
  evidences,
  nextEvidence,
  noEvidence,
  rumorProbability,
  type SyntheticEvidence,
} from './evidence.ts';
import { lengthProbabilities, type SyntheticModel, type SyntheticOptions, syntheticModel } from './options.ts';

/** Costs of waiting. */
const costSchema = z.object({
  delayCostPerPost: z.number().min(0).default(0).describe('reward lost per post used, including the claim'),
  delayCostPerThread: z
    .number()
    .min(0)
    .default(0)
    .describe('reward lost if the whole thread is used, and proportionally for less: this times ER'),
});

/** A rule that decides from the posts so far. */
interface StoppingRule {
  /** Whether to stop after these posts, and P(rumor | these posts). */
  decide(evidence: readonly SyntheticEvidence[]): { stop: boolean; rumorProbability: number };
}

/** Means over threads; ER, `earlyRate`, is that of posts used / posts in the thread. */
interface Outcome {
  readonly accuracy: number;
  readonly meanPosts: number;
  readonly earlyRate: number;
}

/**
 * Computes the best rule of a stream exactly, and its expectations over the stream's threads. `rule.decide` then decides
 * about any prefix of such a stream.
 * @throws InputError for a negative cost or invalid options
 */
export function optimalStopping(options: SyntheticOptions & z.input<typeof costSchema>) {
  const { delayCostPerPost, delayCostPerThread, ...stream } = options;
  const costs = parseItem(costSchema, { value: { delayCostPerPost, delayCostPerThread }, place: 'optimal stopping' });
  const model = syntheticModel(stream);
  const lengths = lengthTables(model);
  const rewardOf = ({ accuracy, meanPosts, earlyRate }: Outcome) =>
    accuracy - costs.delayCostPerPost * meanPosts - costs.delayCostPerThread * earlyRate;

  const outlooks = new Map<string, Outcome & { readonly stop: boolean }>();
  /** The best decision after these posts, and its expectations. */
  function outlook(counts: EvidenceCounts): Outcome & { readonly stop: boolean } {
    const { posts, isQuick, earlyRumor, earlyNonRumor, lateMargin } = counts;
    const key = [posts, isQuick, earlyRumor, earlyNonRumor, lateMargin].join();
    const cached = outlooks.get(key);
    if (cached !== undefined) return cached;
    const rumor = rumorProbability(counts, model);
    const now = { accuracy: Math.max(rumor, 1 - rumor), meanPosts: posts };
    const stopped = { ...now, earlyRate: posts * lengths.meanInverse[posts] };
    const endsHere = lengths.endsHere[posts];
    const waited =
      endsHere < 1
        ? meanOf([
            [endsHere, { ...now, earlyRate: 1 }],
            [1 - endsHere, next(counts)],
          ])
        : { ...now, earlyRate: 1 };
    // In a tie the rule stops, for the same reward earlier.
    const stop = rewardOf(stopped) >= rewardOf(waited) - 1e-12;
    const best = { stop, ...(stop ? stopped : waited) };
    outlooks.set(key, best);
    return best;
  }
  /** The expectations with one more post. */
  function next(counts: EvidenceCounts): Outcome {
    const chances = nextEvidence(counts, model);
    return meanOf(evidences.map((evidence) => [chances[evidence], outlook(addEvidence(counts, { evidence, model }))]));
  }

  const outcome = next(noEvidence);
  const rule: StoppingRule = {
    decide(evidence) {
      const counts = evidence.reduce((sum, next) => addEvidence(sum, { evidence: next, model }), noEvidence);
      return { stop: outlook(counts).stop, rumorProbability: rumorProbability(counts, model) };
    },
  };
  return { expectedReward: rewardOf(outcome), ...outcome, rule };
}

function meanOf(outcomes: readonly (readonly [probability: number, outcome: Outcome])[]): Outcome {
  const mean = (of: (outcome: Outcome) => number) =>
    outcomes.reduce((sum, [probability, outcome]) => sum + probability * of(outcome), 0);
  return {
    accuracy: mean(({ accuracy }) => accuracy),
    meanPosts: mean(({ meanPosts }) => meanPosts),
    earlyRate: mean(({ earlyRate }) => earlyRate),
  };
}

/** The rule's decision on each thread, whose evidence is read from its words. */
export function applyStoppingRule(
  rule: StoppingRule,
  threads: readonly Thread[],
): { threadId: string; postsUsed: number; usedShare: number; rumor: boolean; correct: boolean }[] {
  return threads.map((thread) => {
    const evidence = evidenceOf(thread);
    let postsUsed = 1;
    while (postsUsed < evidence.length && !rule.decide(evidence.slice(0, postsUsed)).stop) postsUsed++;
    const rumor = rule.decide(evidence.slice(0, postsUsed)).rumorProbability >= 0.5;
    const usedShare = postsUsed / evidence.length;
    return { threadId: thread.id, postsUsed, usedShare, rumor, correct: rumor === thread.rumor };
  });
}

/** For k posts seen: P(the thread ends here | it got here) and the mean of 1/length of the threads that got here. */
function lengthTables(model: SyntheticModel): { endsHere: Float64Array; meanInverse: Float64Array } {
  const lengths = lengthProbabilities(model);
  const endsHere = new Float64Array(lengths.length);
  const meanInverse = new Float64Array(lengths.length);
  let longEnough = 0;
  let inverse = 0;
  for (let posts = model.maxPosts; posts >= 1; posts--) {
    longEnough += lengths[posts];
    inverse += lengths[posts] / posts;
    // A length so unlikely that its probability is rounded to 0 is never reached.
    endsHere[posts] = longEnough === 0 ? 1 : lengths[posts] / longEnough;
    meanInverse[posts] = longEnough === 0 ? 1 / posts : inverse / longEnough;
  }
  return { endsHere, meanInverse };
}
