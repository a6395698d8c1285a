import { answerAction, askAction, type QueryEpisode, queryEpisode, WAIT } from '../envs/query-env.ts';
import { groupBy } from '../src/data/group-by.ts';
import type { Random } from '../src/tensor/random.ts';
import { mdpOf, type QueryThread } from '../trainers/query-agent/states.ts';

/*
 * Threads with two made-up detectors whose best policy is known. The dear one is right on all. The cheap one guesses on hard
 * threads, and is visibly unsure there. On easy ones it is vague and guesses until the evidence arrives at some step; from then on
 * it is sure, and mostly right. A guess, and whether it errs, belongs to the thread: to ask again without new evidence tells nothing.
 * How sure "sure", "vague" and "unsure" are exactly is noise that tells nothing either. So the best policy answers where the cheap
 * one is sure, asks the dear one where it is unsure, and waits for evidence where it is vague.
 */

export const planted = {
  detectors: ['cheap', 'dear'],
  /** Posts read at each step, of 16. */
  lengths: [1, 2, 4, 8, 16],
  posts: 16,
  costs: [0.01, 0.15],
  delayCost: 0.5,
  easyShare: 0.6,
  cheapAccuracy: 0.95,
  /** P(the evidence of an easy thread arrives at each step). */
  arrival: [0.3, 0.6, 0.05, 0.05],
} as const;

/** What is hidden of a thread. */
interface Kind {
  readonly number: number;
  readonly label: number;
  readonly isEasy: boolean;
  readonly arrival: number;
  /** What the cheap detector says while it guesses, and while it is sure. */
  readonly guess: number;
  readonly sureLabel: number;
}

type Tone = 'sure' | 'vague' | 'unsure';
const confidences: Readonly<Record<Tone, number>> = { sure: 0.9, vague: 0.7, unsure: 0.5 };
const widthOfNoise = 0.09;

/** What a detector says at a step, but for the noise. */
function said({ label, isEasy, arrival, guess, sureLabel }: Kind, detector: number, step: number) {
  if (detector === 1) return { tone: 'sure' as const, label };
  if (!isEasy) return { tone: 'unsure' as const, label: guess };
  return step >= arrival ? { tone: 'sure' as const, label: sureLabel } : { tone: 'vague' as const, label: guess };
}

export function plantedThreads({ count, random }: { count: number; random: Random }): QueryThread[] {
  return Array.from({ length: count }, (_, index): QueryThread => {
    const { kind } = drawn(kinds, random);
    return {
      id: `planted-${index}`,
      posts: planted.posts,
      lengths: planted.lengths,
      gold: kind.label,
      judgements: planted.lengths.map((_, step) =>
        planted.detectors.map((_, detector) => {
          const { tone, label } = said(kind, detector, step);
          const probability = confidences[tone] + widthOfNoise * random.uniform();
          const probabilities = label === 0 ? [probability, 1 - probability] : [1 - probability, probability];
          return { label, probabilities, cost: planted.costs[detector] };
        }),
      ),
    };
  });
}

function drawn(belief: Belief, random: Random): Belief[number] {
  let left = random.uniform();
  for (const own of belief) {
    left -= own.probability;
    if (left < 0) return own;
  }
  return belief[belief.length - 1];
}

/** Kinds that fit what was said so far, with their probabilities, which sum to that of having come here. */
type Belief = readonly { readonly kind: Kind; readonly probability: number }[];

/** All that the best policy goes by. */
interface Known {
  readonly belief: Belief;
  readonly step: number;
  /** Who was asked at this step, and what each detector said last. */
  readonly asked: readonly boolean[];
  readonly last: readonly (number | null)[];
}

const nothingKnown = (): Known => ({
  belief: kinds,
  step: 0,
  asked: planted.costs.map(() => false),
  last: planted.costs.map(() => null),
});

/**
 * The best action and what is expected of it, times the probability of having come here: every policy that remembers all that was
 * said is tried.
 */
function bestAction(known: Known): Choice {
  const { belief, step, asked, last } = known;
  const key = JSON.stringify([step, asked, last, belief.map(({ kind }) => kind.number)]);
  const best = bestActions.get(key) ?? computedAction(known);
  bestActions.set(key, best);
  return best;
}

interface Choice {
  readonly action: number;
  readonly value: number;
}

const bestActions = new Map<string, Choice>();

function computedAction(known: Known): Choice {
  const { belief, step, last } = known;
  const { lengths, posts, costs, delayCost } = planted;
  const total = belief.reduce((sum, { probability }) => sum + probability, 0);
  const choices: Choice[] = [];
  if (step < lengths.length - 1) choices.push({ action: WAIT, value: bestAction(waited(known)).value });
  for (const [detector, label] of last.entries()) {
    if (label !== null) {
      const right = belief.reduce((sum, own) => sum + (own.kind.label === label ? own.probability : 0), 0);
      const value = right - (total * delayCost * lengths[step]) / posts;
      choices.push({ action: answerAction(detector, costs.length), value });
    }
    if (known.asked[detector]) continue;
    const heard = groupBy(belief, ({ kind }) => JSON.stringify(said(kind, detector, step)));
    const values = Array.from(heard.values(), (own) => bestAction(afterAsking(known, detector, own)).value);
    const value = values.reduce((sum, own) => sum + own, -total * costs[detector]);
    choices.push({ action: askAction(detector), value });
  }
  return choices.reduce((one, other) => (other.value > one.value ? other : one));
}

const waited = (known: Known): Known => ({ ...known, step: known.step + 1, asked: known.asked.map(() => false) });

function afterAsking({ step, asked, last }: Known, detector: number, belief: Belief): Known {
  const { label } = said(belief[0].kind, detector, step);
  return { belief, step, asked: asked.with(detector, true), last: last.with(detector, label) };
}

/** The expected return of the best policy there is. */
export function plantedOptimum(): number {
  return bestAction(nothingKnown()).value;
}

/** What the best policy does with a thread. */
export function followOptimum(thread: QueryThread): QueryEpisode {
  let known = nothingKnown();
  return queryEpisode(mdpOf(thread), () => {
    const { action } = bestAction(known);
    if (action === WAIT) known = waited(known);
    else if (action <= planted.detectors.length) {
      const detector = action - 1;
      const { step, belief } = known;
      const judgement = thread.judgements[step][detector];
      const fits = belief.filter(({ kind }) => {
        const { tone, label } = said(kind, detector, step);
        const probability = judgement?.probabilities?.[label] ?? 0;
        return (
          label === judgement?.label &&
          probability >= confidences[tone] &&
          probability <= confidences[tone] + widthOfNoise
        );
      });
      known = afterAsking(known, detector, fits);
    }
    return action;
  });
}

const kinds: Belief = allKinds();

function allKinds(): Belief {
  const { easyShare, cheapAccuracy, arrival } = planted;
  const all = [0, 1].flatMap((label) =>
    [0, 1].flatMap((guess) => [
      { label, isEasy: false, arrival: 0, guess, sureLabel: label, probability: (1 - easyShare) / 4 },
      ...arrival.flatMap((arrives, step) =>
        [cheapAccuracy, 1 - cheapAccuracy].map((share, errs) => {
          const sureLabel = errs === 1 ? 1 - label : label;
          return {
            label,
            isEasy: true,
            arrival: step,
            guess,
            sureLabel,
            probability: (easyShare * arrives * share) / 4,
          };
        }),
      ),
    ]),
  );
  return all.map(({ probability, ...kind }, number) => ({ kind: { ...kind, number }, probability }));
}
