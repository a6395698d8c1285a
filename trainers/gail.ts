import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { type ExpertName, expertNames } from '../experts/trajectories.ts';
import { columnOf } from '../src/tensor/batched-ops.ts';
import { descent } from '../src/tensor/descent.ts';
import type { Random } from '../src/tensor/random.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
import {
  type Discriminator,
  type DiscriminatorHealth,
  type DiscriminatorName,
  type DiscriminatorSeen,
  discriminatorHealth,
  type GailMinibatch,
  type GailRowWeights,
  gailLoss,
  logitsExpertIsHigh,
  type PairTensors,
} from './discriminator.ts';

/*
 * GAIL (Ho & Ermon 2016) with the three experts of EARD (Eq. 3, 4): α pulls towards the conservative expert (CE), β
 * towards the early-action expert (EAE), γ pushes away from the misleading one (ME).
 *
 *   symbol      paper                                here
 *   D           1 for the agent, 0 for experts       logits are high for experts (D̃ = 1 − D), as in the authors' code
 *   r           −log D = softplus of our logit       `reward: logit`, logit(D̃), as in the authors' code; `minus-log-d` is the
 *                                                    paper's. It is never negative, which would reward episodes that are long
 *   r           as it is                             over the running deviation of its discounted sum (gae.ts), as in the authors'
 *                                                    code, −log D too; `rewardScale: none` is the paper's
 *   D           Eq. 1 and 2: one for each expert     `objective: shared` is one for all of them, Eq. 3 and the authors' code;
 *                                                    `separate` is one for each, with the reward α r_c + β r_e − γ r_m
 *   −γ E_ME     subtracted: unbounded below          `misleading: subtract` is that; `as-agent` gives ME pairs the
 *                                                    agent's label, the same direction with a bounded loss
 *   penalty     not in the paper; in the code        (‖∂logit/∂[s; a]‖ − 1)² at mixtures of expert and agent pairs
 *
 * Eq. 3 is not Eq. 1 with Eq. 2 put in. There each divergence has a discriminator of its own, and −γ max_D is not max_D of −γ(…):
 * Eq. 1 asks the agent to be unlike ρ_m, while one discriminator takes γ ρ_m out of the mixture that the agent is to be like. Where
 * a shared discriminator has nothing left to tell, ρ = (α ρ_c + β ρ_e − γ ρ_m) / (α + β − γ). With one for each the reward is
 * α ln(ρ_c / ρ) + β ln(ρ_e / ρ) − γ ln(ρ_m / ρ) there, and no mixture but a product of the experts is where it is the same
 * everywhere: ρ ∝ (ρ_c^α ρ_e^β ρ_m^−γ)^(1 / (α + β − γ)).
 *
 * Every tensor is [members, rows, columns]: the leading axis counts the batched runs.
 */

/** GAIL's part of the imitation options. */
export const gailOptions = {
  alpha: z.number().min(0).default(0.7).describe('weight of the conservative expert'),
  beta: z.number().min(0).default(0.15).describe('weight of the early-action expert'),
  gamma: z.number().min(0).default(0.15).describe('weight of the misleading expert'),
  objective: z
    .enum(['shared', 'separate'])
    .default('shared')
    .describe(
      'discriminators: shared, one for all experts (Eq. 3); separate, one for each, whose rewards are added with α, β and −γ (Eq. 1 and 2). With separate, misleading is not read',
    ),
  misleading: z
    .enum(['as-agent', 'subtract'])
    .default('as-agent')
    .describe(
      "how misleading pairs count: as-agent, as further agent-labelled data; subtract, the paper's literal term, which has no lower bound and may diverge",
    ),
  reward: z
    .enum(['logit', 'minus-log-d'])
    .default('logit')
    .describe(
      "what the agent earns for a step: the discriminator's logit, high for experts, as in the published code; minus-log-d, −log D as in the paper, which is never negative",
    ),
  rewardScale: z
    .enum(['running-deviation', 'none'])
    .default('running-deviation')
    .describe(
      'what rewards are divided by: the running deviation of their discounted sum, as in the published code, or nothing, as in the paper',
    ),
  discriminator: z
    .strictObject({
      hidden: z.int().min(1).default(100).describe('units in each of the two hidden layers'),
      learningRate: z.number().positive().default(1e-4).describe('of Adam'),
      batchSize: z.int().min(1).default(64).describe('pairs of the agent, and of each expert, in a minibatch'),
      epochs: z.int().min(1).default(5).describe("passes over the agent's steps in each iteration"),
      warmupEpochs: z.int().min(1).default(10).describe('the same in the first warm-up iterations'),
      warmupIterations: z.int().min(0).default(10).describe('iterations with warm-up epochs'),
      penalty: z
        .number()
        .min(0)
        .default(10)
        .describe('weight of the gradient penalty, which pulls norms to 1; 0 turns it off'),
    })
    .prefault({})
    .describe('tells demonstrated steps from the agent’s'),
};
export type GailConfig = z.infer<z.ZodObject<typeof gailOptions>>;
type ExpertRatio = Pick<GailConfig, 'alpha' | 'beta' | 'gamma'>;

/** Rewards of steps from the discriminator's logits, high for experts; [steps]. */
export function rewardsOf(logits: Float32Array, reward: GailConfig['reward']): Float32Array {
  // −log D = −log σ(−l) = log(1 + eˡ), and eˡ may not overflow.
  return reward === 'logit'
    ? logits
    : logits.map((logit) => Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit))));
}

/** What is wrong with the experts' weights; null where nothing is. */
export function expertWeightsProblem({ alpha, beta, gamma }: ExpertRatio) {
  // Not merely > 0: the losses are divided by α + β − γ, and 0.2 + 0.1 exceeds 0.3 by a rounding error.
  return alpha + beta - gamma > 1e-6
    ? null
    : `alpha + beta must exceed gamma, or nothing is left to imitate; got ${alpha} + ${beta} ≤ ${gamma}`;
}

/** State-action pairs: a row of the state table and the action taken there, both [pairs]. */
export interface Pairs {
  readonly rows: Int32Array;
  readonly actions: Uint8Array;
}

/** One expert's pairs without end: passes in a fresh random order each. */
export interface ExpertStream {
  readonly pairs: Pairs;
  order: Int32Array;
  position: number;
}

export interface GailMember {
  readonly config: GailConfig;
  readonly random: Random;
  /** Those whose pairs the discriminator tells from the agent's: every expert that any batched run has, or one. */
  readonly experts: readonly ExpertName[];
  /** One for each of them; null where this member has no such demonstration. */
  readonly streams: readonly (ExpertStream | null)[];
}

/** What the rows of one expert count for, over the batch as a whole. */
interface ExpertWeight {
  readonly labelExpertIsOne: number;
  /** In the cross-entropy; negative to subtract. */
  readonly weight: number;
}

/**
 * What each divergence of Eq. 1 counts, by the experts that there are; 0 for the others.
 *
 * Wherever there is a conservative trajectory there is an early-action one. None are left where each was the conservative one again
 * (trajectories.keepEarlyAction), so that ρ_e is ρ_c, which then has the weight of both.
 */
export function signedWeights({ alpha, beta, gamma }: ExpertRatio, present: readonly ExpertName[]) {
  const [conservative, earlyAction, misleading] = expertNames.map((name) => present.includes(name));
  return {
    conservative: conservative ? alpha + (earlyAction ? 0 : beta) : 0,
    earlyAction: earlyAction ? beta : 0,
    misleading: misleading ? -gamma : 0,
  };
}

/**
 * The agent's weight in Eq. 3: α + β − γ, less the weights of experts without demonstrations. Each divergence of Eq. 1 brings the
 * agent's term once, and one from nothing has none. If it still counted, the logit would not be 0 where the agent is like the
 * other experts: without ME it would be ln((α + β) / (α + β − γ)), by default 0.194, which pays for every step.
 */
export function agentWeight(config: ExpertRatio, present: readonly ExpertName[]): number {
  return Object.values(signedWeights(config, present)).reduce((sum, weight) => sum + weight, 0);
}

/** Those that the member has demonstrations of. */
export function presentExperts({ experts, streams }: Pick<GailMember, 'experts' | 'streams'>): ExpertName[] {
  return experts.filter((_, set) => streams[set] !== null);
}

/** Weights of Eq. 3, divided by the agent's so that it is 1; of a discriminator with one expert (Eq. 2), 1 for either. */
export function expertWeights(member: GailMember): ExpertWeight[] {
  const { config, experts, streams } = member;
  const { objective, misleading } = config;
  const present = presentExperts(member);
  const weights = signedWeights(config, present);
  const ofAgent = agentWeight(config, present);
  return experts.map((expert, set) => {
    if (objective === 'separate') return { labelExpertIsOne: 1, weight: Number(streams[set] !== null) };
    const share = Math.abs(weights[expert]) / ofAgent;
    const isMisleading = expert === 'misleading';
    return {
      labelExpertIsOne: Number(!(isMisleading && misleading === 'as-agent')),
      weight: isMisleading && misleading === 'subtract' ? -share : share,
    };
  });
}

/** What each row of a minibatch counts for, from the weights of the agent and the experts. */
export function gailRowWeights(members: readonly GailMember[]): GailRowWeights {
  const { batchSize } = members[0].config.discriminator;
  const weighted = members.map((member) => ({
    experts: expertWeights(member),
    penalty: member.config.discriminator.penalty,
  }));
  const perRow = (valuesOf: (own: (typeof weighted)[number]) => number[]) =>
    columnOf(
      weighted.map((own) => Float32Array.from(valuesOf(own).flatMap((value) => Array<number>(batchSize).fill(value)))),
    );
  return {
    labelsExpertIsOne: perRow(({ experts }) => [0, ...experts.map(({ labelExpertIsOne }) => labelExpertIsOne)]),
    weights: perRow(({ experts }) => [1 / batchSize, ...experts.map(({ weight }) => weight / batchSize)]),
    // A subtracted expert's is added.
    penalties: weighted.every(({ penalty }) => penalty === 0)
      ? null
      : perRow(({ experts, penalty }) => experts.map(({ weight }) => (penalty * Math.abs(weight)) / batchSize)),
  };
}

/** Adam's own; PPO's is larger. */
const ADAM_EPSILON = 1e-8;

/** What all updates of an iteration share. */
interface GailUpdates {
  readonly rowWeights: GailRowWeights;
  /** The agent's new steps, whose logits are wanted after the last update. */
  readonly agentSteps: PairTensors;
}

const descendGail = descent<DiscriminatorName, GailMinibatch, GailUpdates, DiscriminatorSeen, { logits: tf.Tensor3D }>(
  (parameters, batch, { rowWeights }) => gailLoss(parameters, batch, rowWeights),
  (parameters, { agentSteps }) => ({ logits: logitsExpertIsHigh(parameters, agentSteps) }),
);

/**
 * One iteration's updates (EARD Algorithm 1, line 8): epochs of minibatches over the agent's new steps, each beside as
 * many pairs of every expert.
 * @param agentSteps the new steps of each member, as many of each
 * @returns with the logits of those steps after the last update, [steps] each
 */
export async function updateDiscriminator(
  discriminator: Discriminator,
  agentSteps: readonly Pairs[],
  options: { members: readonly GailMember[]; states: RowTables; rowWeights: GailRowWeights; epochs: number },
): Promise<{ health: DiscriminatorHealth[]; logits: Float32Array[] }> {
  const { members, states, rowWeights, epochs } = options;
  const steps = agentSteps[0].rows.length;
  const batch = members[0].config.discriminator.batchSize;
  const updates = Math.floor(steps / batch);
  let orders: readonly Int32Array[] = [];
  const draw = (update: number) => {
    if (update === 0) orders = members.map(({ random }) => random.permutation(steps));
    const chosen = orders.map((order) => order.subarray(update * batch, (update + 1) * batch));
    return takeMinibatch(agentSteps, { chosen, members, states });
  };
  const batches = Array.from({ length: epochs * updates }, (_, update) => () => draw(update % updates));
  const wanted = {
    states: states.gather(agentSteps.map(({ rows }) => rows)),
    actions: columnOf(agentSteps.map(({ actions }) => Float32Array.from(actions))),
  };
  const { seen, after } = await descendGail(discriminator, {
    batches,
    shared: { rowWeights, agentSteps: wanted },
    adam: { learningRates: members.map(({ config }) => config.discriminator.learningRate), epsilon: ADAM_EPSILON },
  });
  const logits = await after.logits.data<'float32'>();
  tf.dispose([wanted.states, wanted.actions, after.logits]);
  const health = await discriminatorHealth(members, seen.slice(-updates));
  for (const { logits, penalty } of seen) tf.dispose([logits, penalty ?? []]);
  return {
    health,
    logits: members.map((_, member) => logits.subarray(member * steps, (member + 1) * steps)),
  };
}

function takeMinibatch(
  agentSteps: readonly Pairs[],
  options: { chosen: readonly Int32Array[]; members: readonly GailMember[]; states: RowTables },
): GailMinibatch {
  const { chosen, members, states } = options;
  const drawn = members.map((member, index) => drawPairs(agentSteps[index], chosen[index], member));
  return {
    states: states.gather(drawn.map(({ rows }) => rows)),
    actions: columnOf(drawn.map(({ actions }) => actions)),
    mixture: columnOf(drawn.map(({ mixture }) => mixture)),
  };
}

/** One member's minibatch: the chosen steps of the agent, then as many pairs of each expert. */
function drawPairs(agentSteps: Pairs, chosen: Int32Array, { streams, random }: GailMember) {
  const batch = chosen.length;
  const rows = new Int32Array((1 + streams.length) * batch);
  const actions = new Float32Array(rows.length);
  const mixture = new Float32Array(streams.length * batch);
  const put = (place: number, pairs: Pairs, pair: number) => {
    rows[place] = pairs.rows[pair];
    actions[place] = pairs.actions[pair];
  };
  for (const [i, step] of chosen.entries()) put(i, agentSteps, step);
  for (const [set, stream] of streams.entries())
    for (let i = 0; i < batch; i++) {
      const place = (set + 1) * batch + i;
      // An expert that only other members have: any pair will do, for it weighs nothing.
      if (stream === null) put(place, agentSteps, chosen[i]);
      else put(place, stream.pairs, nextPair(stream, random));
    }
  for (const [set, stream] of streams.entries())
    if (stream !== null) for (let i = 0; i < batch; i++) mixture[set * batch + i] = random.uniform();
  return { rows, actions, mixture };
}

/** The stream's next pair, of passes in a fresh order when it has been through all. */
export function nextPair(stream: ExpertStream, random: Random): number {
  if (stream.position === stream.order.length) {
    stream.order = random.permutation(stream.pairs.rows.length);
    stream.position = 0;
  }
  return stream.order[stream.position++];
}
