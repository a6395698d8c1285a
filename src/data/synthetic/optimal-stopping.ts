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

interface StoppingNode {
  readonly counts: EvidenceCounts;
  readonly rumorProbability: number;
  readonly next: readonly { probability: number; node: StoppingNode }[];
  value: number;
  stop: boolean;
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
  const layers = buildLayers(model);
  const delay = (posts: number, usedShare: number) =>
    costs.delayCostPerPost * posts + costs.delayCostPerThread * usedShare;

  for (const layer of layers.toReversed())
    for (const node of layer.values()) {
      const { posts } = node.counts;
      const right = Math.max(node.rumorProbability, 1 - node.rumorProbability);
      const stopped = right - delay(posts, posts * lengths.meanInverse[posts]);
      const ended = right - delay(posts, 1);
      const goneOn = node.next.reduce((sum, { probability, node: after }) => sum + probability * after.value, 0);
      const waited = lengths.endsHere[posts] * ended + (1 - lengths.endsHere[posts]) * goneOn;
      // In a tie the rule stops, for the same reward earlier.
      node.stop = stopped >= waited - 1e-12;
      node.value = Math.max(stopped, waited);
    }

  const [first] = layers;
  const start = nextEvidence(noEvidence, model);
  const reached = new Map<StoppingNode, number>();
  for (const node of first.values()) reached.set(node, start[firstEvidence(node.counts, model)]);
  // ER, `earlyRate`, is the mean of posts used / posts in the thread.
  const outcome = { expectedReward: 0, accuracy: 0, meanPosts: 0, earlyRate: 0 };
  for (const [node, probability] of reached) outcome.expectedReward += probability * node.value;
  // A Map also visits entries added during the loop, and each layer is complete before the next is reached.
  for (const [node, probability] of reached) {
    const { posts } = node.counts;
    const endsHere = lengths.endsHere[posts];
    const right = Math.max(node.rumorProbability, 1 - node.rumorProbability);
    const decided = probability * (node.stop ? 1 : endsHere);
    outcome.accuracy += decided * right;
    outcome.meanPosts += decided * posts;
    outcome.earlyRate += decided * (node.stop ? posts * lengths.meanInverse[posts] : 1);
    if (node.stop) continue;
    for (const { probability: step, node: after } of node.next)
      reached.set(after, (reached.get(after) ?? 0) + probability * (1 - endsHere) * step);
  }
  return { ...outcome, rule: ruleOf(layers, model) };
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

function keyOf(counts: EvidenceCounts): string {
  return `${counts.isQuick} ${counts.earlyRumor} ${counts.earlyNonRumor} ${counts.lateMargin}`;
}

/** All reachable counts after 1, 2, … maxPosts posts, each linked to its successors. */
function buildLayers(model: SyntheticModel): Map<string, StoppingNode>[] {
  const after = (counts: EvidenceCounts) => evidences.map((evidence) => addEvidence(counts, { evidence, model }));
  const reachable: EvidenceCounts[][] = [];
  for (let previous = [noEvidence]; reachable.length < model.maxPosts; previous = reachable[reachable.length - 1])
    reachable.push([...new Map(previous.flatMap(after).map((counts) => [keyOf(counts), counts])).values()]);
  const layers: Map<string, StoppingNode>[] = [];
  let below = new Map<string, StoppingNode>();
  for (const layer of reachable.toReversed()) {
    const nodes = new Map<string, StoppingNode>();
    for (const counts of layer) {
      const chances = nextEvidence(counts, model);
      const next = evidences.flatMap((evidence) => {
        const node = below.get(keyOf(addEvidence(counts, { evidence, model })));
        return node === undefined ? [] : [{ probability: chances[evidence], node }];
      });
      nodes.set(keyOf(counts), {
        counts,
        next,
        rumorProbability: rumorProbability(counts, model),
        value: 0,
        stop: true,
      });
    }
    layers.unshift(nodes);
    below = nodes;
  }
  return layers;
}

/** The evidence of the only post behind these counts. */
function firstEvidence(counts: EvidenceCounts, model: SyntheticModel): SyntheticEvidence {
  const match = evidences.find((evidence) => keyOf(addEvidence(noEvidence, { evidence, model })) === keyOf(counts));
  return match ?? 'neutral';
}

function ruleOf(layers: readonly Map<string, StoppingNode>[], model: SyntheticModel): StoppingRule {
  return {
    decide(evidence) {
      const counts = evidence.reduce((sum, next) => addEvidence(sum, { evidence: next, model }), noEvidence);
      const { stop } = layers[counts.posts - 1].get(keyOf(counts)) ?? { stop: true };
      return { stop, rumorProbability: rumorProbability(counts, model) };
    },
  };
}
