import * as tf from '@tensorflow/tfjs-core';
import { columnOf, gatherRows, type Tensors } from '../src/tensor/batched-ops.ts';
import { descent } from '../src/tensor/descent.ts';
import type { RowTables } from '../src/tensor/row-tables.ts';
import {
  type Discriminator,
  type DiscriminatorHealth,
  type DiscriminatorName,
  type DiscriminatorSeen,
  discriminatorLoss,
  disposeSeen,
  type GailRowWeights,
  logitsOfBothActions,
  meanPenalties,
  statePreActivation,
} from './discriminator.ts';
import { discriminatorAdam, type ExpertWeight, type GailMember, nextPair } from './gail.ts';
import { actionValues, type ThreadMdps, visitProbabilities } from './thread-mdp.ts';

/*
 * GAIL without rollouts. What gail.ts estimates from sampled steps is known here, because every thread is a small MDP
 * (thread-mdp.ts). With d(s) the probability that an episode on a random thread visits s, L its expected length and
 * ρ(s, a) = d(s) π(a | s) / L the share of steps that take a in s,
 *
 *   the discriminator's term   E_π[softplus(l)]   = Σ_s Σ_a ρ(s, a) softplus(l(s, a))        (l: logit, high for experts)
 *   the reward                 r(s, a)            = l(s, a)
 *   the advantage              A(s, a)            = r(s, a) + γ V(s') − V(s),  V(s) = Σ_a π(a | s) Q(s, a)
 *   PPO's objective            E_π[min(…)]        = Σ_s Σ_a ρ(s, a) min(x A, clip(x) A),  x = π'(a | s) / π(a | s)
 *
 * and the mean of generalised advantages over rollouts is A for every λ when the critic is exact: the temporal difference
 * of the step itself has the mean A(s, a), those of later steps the mean 0. So there is no sampling, no critic, no λ and
 * no scale of rewards to keep: advantages are standardised by their own standard deviation under ρ.
 *
 *   point         sampled (gail.ts, ppo.ts)              here
 *   threads       200 steps, the last thread cut         whole threads, as many as 200 steps fill
 *   updates       minibatches of sampled steps           all pairs at once: one update an epoch
 *   experts       minibatches of their pairs             the same
 *   penalty       mixtures with random ε                 the same; the agent's pair of each is drawn from ρ
 */

/** What one member sees in an iteration. */
export interface SeenThreads {
  /** Rows of the table, thread after thread: the states of `mdps`, [states]. */
  readonly rows: Int32Array;
  readonly mdps: ThreadMdps;
}

/** How much each state and each pair of it weighs, [states] each; the pairs of all states together weigh 1. */
export interface Occupancy {
  readonly visits: Float32Array;
  readonly stopping: Float32Array;
  readonly continuing: Float32Array;
}

/** The share of steps that a policy spends in each state and pair. `stopProbability` is [states]. */
export function occupancyOf(mdps: ThreadMdps, stopProbability: Float64Array): Occupancy {
  const visits = visitProbabilities(mdps, stopProbability);
  const steps = visits.reduce((sum, visit) => sum + visit, 0);
  return {
    visits: Float32Array.from(visits, (visit) => visit / steps),
    stopping: Float32Array.from(visits, (visit, state) => (visit / steps) * stopProbability[state]),
    continuing: Float32Array.from(visits, (visit, state) => (visit / steps) * (1 - stopProbability[state])),
  };
}

/** A(s, a) of both actions, [states] each. */
export interface ExactAdvantages {
  readonly ofStopping: Float32Array;
  readonly ofContinuing: Float32Array;
}

/** Advantages under the rewards, not standardised. */
export function exactAdvantages(...problem: Parameters<typeof actionValues>): ExactAdvantages {
  const { values, ofStopping, ofContinuing } = actionValues(...problem);
  return {
    ofStopping: Float32Array.from(ofStopping, (own, state) => own - values[state]),
    ofContinuing: Float32Array.from(ofContinuing, (own, state) => own - values[state]),
  };
}

/** One of the batched runs in `updateDiscriminatorExactly`. */
export interface ExactGailMember extends GailMember {
  readonly seen: SeenThreads;
  readonly occupancy: Occupancy;
  readonly expertWeights: readonly ExpertWeight[];
}

/** A minibatch of the experts'. */
export type ExpertMinibatch = {
  /** [members, expert rows, inputs]. */
  readonly expertStates: tf.Tensor3D;
  /** [members, expert rows, 1]. */
  readonly expertActions: tf.Tensor3D;
  /** Each expert's pair is mixed with one of the agent's. The pair's own share, [members, expert rows, 1]. */
  readonly expertShares: tf.Tensor3D;
  /** The state of the agent's pair: its number among the agents' states of all members, [members · expert rows]. */
  readonly agentRows: tf.Tensor1D;
  /** The mixed actions, [members, expert rows, 1]. */
  readonly mixedActions: tf.Tensor3D;
};

/** What all updates of an iteration share: the agent's pairs have weights, and are not drawn. */
export interface AgentPairs extends GailRowWeights {
  /** [members, agent states, inputs]. */
  readonly agentStates: tf.Tensor3D;
}

/**
 * `gailLoss` over all pairs: the agent's states with CONTINUE, the same with STOP, and the experts' rows. Both actions share the
 * product of their state.
 */
export function occupancyLoss(
  parameters: Tensors<DiscriminatorName>,
  { expertStates, expertActions, expertShares, agentRows, mixedActions }: ExpertMinibatch,
  { agentStates, ...rowWeights }: AgentPairs,
) {
  const { wAction } = parameters;
  const ofAgent = statePreActivation(parameters, agentStates);
  const ofExperts = statePreActivation(parameters, expertStates);
  const withAction = (states: tf.Tensor3D, actions: tf.Tensor3D) =>
    tf.add<tf.Tensor3D>(states, tf.mul(actions, wAction));
  const pairs = tf.concat([ofAgent, tf.add<tf.Tensor3D>(ofAgent, wAction), withAction(ofExperts, expertActions)], 1);
  const mixedStates = () => {
    const beside = gatherRows(ofAgent, agentRows);
    return tf.add<tf.Tensor3D>(beside, tf.mul(expertShares, tf.sub(ofExperts, beside)));
  };
  return discriminatorLoss(parameters, { pairs, mixtures: () => withAction(mixedStates(), mixedActions) }, rowWeights);
}

const descendOccupancy = descent<
  DiscriminatorName,
  ExpertMinibatch,
  AgentPairs,
  DiscriminatorSeen,
  { rewards: tf.Tensor3D }
>(occupancyLoss, (parameters, { agentStates }) => ({
  rewards: logitsOfBothActions({ parameters, states: agentStates }),
}));

/**
 * Epochs of one update each over all pairs of the agent, beside a minibatch of every expert.
 * @param options.agentStates the rows that each member sees, padded: [members, agent states, inputs]
 * @returns with the logits of both actions in each member's states after the last update, CONTINUE then STOP: [states, 2] each
 */
export async function updateDiscriminatorExactly(
  discriminator: Discriminator,
  members: readonly ExactGailMember[],
  { states, agentStates, epochs }: { states: RowTables; agentStates: tf.Tensor3D; epochs: number },
): Promise<{ health: DiscriminatorHealth[]; logits: Float32Array[] }> {
  const most = agentStates.shape[1];
  const rowWeights = occupancyRowWeights(members, most);
  const shared = { ...rowWeights, agentStates };
  const batches = Array.from({ length: epochs }, () => () => drawMinibatch(members, { states, agentStates: most }));
  const { seen, after } = await descendOccupancy(discriminator, { batches, shared, adam: discriminatorAdam(members) });
  const last = seen.slice(-1);
  const logits = await last[0].logits.data<'float32'>();
  const rewards = await after.rewards.data<'float32'>();
  const penalties = await meanPenalties(members, last);
  disposeSeen(seen);
  tf.dispose([after.rewards, rowWeights.labelsExpertIsOne, rowWeights.weights, rowWeights.penalties ?? []]);
  const rows = logits.length / members.length;
  return {
    health: members.map((member, index) => ({
      ...accuracyOf(member, { logits: logits.subarray(index * rows, (index + 1) * rows), agentStates: most }),
      penalty: penalties[index],
    })),
    logits: members.map(({ seen }, member) =>
      rewards.subarray(2 * member * most, 2 * (member * most + seen.rows.length)),
    ),
  };
}

function occupancyRowWeights(members: readonly ExactGailMember[], agentStates: number): GailRowWeights {
  const { batchSize } = members[0].config.discriminator;
  const expertRows = members[0].streams.length * batchSize;
  const column = (
    agent: (member: ExactGailMember) => [Float32Array, Float32Array],
    of: (own: ExpertWeight) => number,
  ) =>
    columnOf(
      members.map((member) => {
        const all = new Float32Array(2 * agentStates + expertRows);
        const [continuing, stopping] = agent(member);
        all.set(continuing);
        all.set(stopping, agentStates);
        for (const [set, own] of member.expertWeights.entries())
          all.fill(of(own), 2 * agentStates + set * batchSize, 2 * agentStates + (set + 1) * batchSize);
        return all;
      }),
    );
  const none = new Float32Array(0);
  const hasPenalty = members.some(({ config }) => config.discriminator.penalty > 0);
  return {
    labelsExpertIsOne: column(
      () => [none, none],
      ({ labelExpertIsOne }) => labelExpertIsOne,
    ),
    weights: column(
      ({ occupancy }) => [occupancy.continuing, occupancy.stopping],
      ({ weight }) => weight / batchSize,
    ),
    penalties: hasPenalty
      ? columnOf(
          members.map(({ expertWeights }) =>
            Float32Array.from(
              { length: expertRows },
              (_, row) => expertWeights[Math.floor(row / batchSize)].penalty / batchSize,
            ),
          ),
        )
      : null,
  };
}

/** As many pairs of every expert, each mixed with a pair of the agent's. */
function drawMinibatch(
  members: readonly ExactGailMember[],
  { states, agentStates }: { states: RowTables; agentStates: number },
): ExpertMinibatch {
  const { batchSize } = members[0].config.discriminator;
  const expertRows = members[0].streams.length * batchSize;
  const agentRows = new Int32Array(members.length * expertRows);
  const [actions, expertShares, mixedActions] = [0, 1, 2].map(() => members.map(() => new Float32Array(expertRows)));
  const rows = members.map(({ occupancy, streams, random }, member) => {
    const own = new Int32Array(expertRows);
    const drawPair = pairDrawer(occupancy);
    for (const [set, stream] of streams.entries()) {
      if (stream === null) continue;
      for (let i = 0; i < batchSize; i++) {
        const row = set * batchSize + i;
        const pair = nextPair(stream, random);
        own[row] = stream.pairs.rows[pair];
        actions[member][row] = stream.pairs.actions[pair];
        const share = random.uniform();
        const { state, action } = drawPair(random.uniform());
        expertShares[member][row] = share;
        agentRows[member * expertRows + row] = member * agentStates + state;
        mixedActions[member][row] = share * stream.pairs.actions[pair] + (1 - share) * action;
      }
    }
    return own;
  });
  return {
    expertStates: states.gather(rows),
    expertActions: columnOf(actions),
    expertShares: columnOf(expertShares),
    agentRows: tf.tensor1d(agentRows, 'int32'),
    mixedActions: columnOf(mixedActions),
  };
}

/** Finds the pair at a uniform number's place in the occupancy. */
function pairDrawer({ stopping, continuing }: Occupancy): (uniform: number) => { state: number; action: number } {
  const cumulative = new Float64Array(2 * stopping.length);
  let sum = 0;
  for (let state = 0; state < stopping.length; state++) {
    sum += continuing[state];
    cumulative[2 * state] = sum;
    sum += stopping[state];
    cumulative[2 * state + 1] = sum;
  }
  return (uniform) => {
    let [low, high] = [0, cumulative.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cumulative[middle] > uniform * sum) high = middle;
      else low = middle + 1;
    }
    return { state: low >> 1, action: low % 2 };
  };
}

function accuracyOf(
  { occupancy, streams, config }: ExactGailMember,
  { logits, agentStates }: { logits: Float32Array; agentStates: number },
): Omit<DiscriminatorHealth, 'penalty'> {
  const { batchSize } = config.discriminator;
  let agent = 0;
  for (const [state, weight] of occupancy.continuing.entries()) {
    if (logits[state] <= 0) agent += weight;
    if (logits[agentStates + state] <= 0) agent += occupancy.stopping[state];
  }
  return {
    agent,
    saysExpert: streams.map((stream, set) => {
      if (stream === null) return null;
      const first = 2 * agentStates + set * batchSize;
      return logits.subarray(first, first + batchSize).filter((logit) => logit > 0).length / batchSize;
    }),
  };
}
