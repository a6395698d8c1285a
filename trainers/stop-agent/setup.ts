import * as tf from '@tensorflow/tfjs-core';
import type { StateTable } from '../../envs/state-table.ts';
import type { ExpertName } from '../../experts/trajectories.ts';
import { InputError } from '../../src/errors.ts';
import { resetOptimizer } from '../../src/tensor/adam.ts';
import { columnMoments, type Moments, standardized } from '../../src/tensor/normalizer.ts';
import { Random } from '../../src/tensor/random.ts';
import { type Rows, RowTables } from '../../src/tensor/row-tables.ts';
import { cloneEpoch, pairsToCopy, type WeightedPairs } from '../behavior-cloning.ts';
import type { Pairs } from '../gail.ts';
import { createPolicyValue, disposePolicyValue, type PolicyValue, stackPolicyValues } from '../policy-value.ts';
import { checkBatch } from './batched-runs.ts';
import { demonstrationPairs } from './pairs.ts';
import type { StopMember } from './problem.ts';

/** What every trainer of stop agents starts from: a batch's networks and the standardised states they read. */
export interface StopLearner {
  readonly members: readonly LearnerMember[];
  readonly agent: PolicyValue;
  readonly states: RowTables;
}

export interface LearnerMember extends StopMember {
  /** Draws initial weights, and the order in which demonstrations are copied. */
  weightRandom: Random;
  /** What the member's states are standardised with. */
  readonly moments: Moments;
}

/**
 * Networks and states of a batch. The caller disposes it with `disposeLearner`.
 * @throws InputError when the members cannot share a program, or a member has nothing to see or to copy
 */
export async function createLearner(
  members: readonly StopMember[],
  { hasCritic }: { hasCritic: boolean },
): Promise<StopLearner> {
  checkBatch(members.map(({ config }) => config));
  checkWidths(members);
  const known = new Map<StateTable, CreatedMember>();
  const created: CreatedMember[] = [];
  for (const member of members) {
    // Members that share a table share its moments and states.
    const { table } = member.problem;
    const own = createMember(member, { hasCritic, sharing: known.get(table) ?? null });
    known.set(table, own);
    if (member.config.initialization === 'behavior-cloning') await copyDemonstrations(own);
    created.push(own);
  }
  return {
    members: created,
    agent: stackPolicyValues(created.map(({ network }) => network)),
    states: new RowTables(created.map(({ states }) => states)),
  };
}

export function disposeLearner({ agent, states }: StopLearner): void {
  disposePolicyValue(agent);
  states.dispose();
}

/** A member's state-action pairs of one expert. */
export function pairsOf({ problem, config }: StopMember, expert: ExpertName): Pairs {
  const own = problem.demonstrations.filter((demonstration) => demonstration.expert === expert);
  return demonstrationPairs(problem.table, own, config);
}

/** The pairs that a member copies. */
export function guidance(member: StopMember): WeightedPairs {
  return pairsToCopy({
    conservative: pairsOf(member, 'conservative'),
    earlyAction: pairsOf(member, 'earlyAction'),
    weights: member.config.imitation,
  });
}

/** A member with a network of its own. */
export interface CreatedMember extends LearnerMember {
  readonly network: PolicyValue;
  readonly states: Rows;
}

/**
 * Standardised states and a network of random weights that stops with the probability asked for.
 * @param options.sharing a member with the same table, whose moments and states it shares
 * @throws InputError when the states have no columns
 */
export function createMember(
  member: StopMember,
  options: { hasCritic: boolean; sharing?: Pick<CreatedMember, 'moments' | 'states'> | null },
): CreatedMember {
  const { hasCritic, sharing = null } = options;
  const { config, problem, seed } = member;
  const { table } = problem;
  if (table.columns === 0)
    throw new InputError('the states have no columns: the agent would see nothing; let it see posts or a student');
  const moments = sharing?.moments ?? columnMoments(table);
  const weightRandom = Random.seeded({ seed, purpose: 'stop-agent weights' });
  const network = createPolicyValue({
    inputs: table.columns,
    actions: 2,
    hidden: config.hidden,
    hasCritic,
    randoms: [weightRandom],
  });
  const { initialStopProbability: p } = config;
  const { b3 } = network.parameters;
  network.parameters.b3 = tf.tensor3d([0, Math.log(p / (1 - p)), ...(hasCritic ? [0] : [])], b3.shape);
  b3.dispose();
  return { ...member, weightRandom, moments, network, states: sharing?.states ?? standardized(table, moments) };
}

/** Behaviour cloning before another algorithm takes over, whose optimiser then starts from nothing. */
async function copyDemonstrations(member: CreatedMember): Promise<void> {
  const { config, network, weightRandom: random } = member;
  const states = new RowTables([member.states]);
  const pairs = guidance(member);
  for (let epoch = 0; epoch < config.behaviorCloning.epochs; epoch++)
    await cloneEpoch(network, pairs, { states, config: config.behaviorCloning, random });
  resetOptimizer(network);
  states.dispose();
}

function checkWidths(members: readonly StopMember[]): void {
  const [first, ...others] = members.map(({ problem }) => problem.table.columns);
  for (const [index, columns] of others.entries())
    if (columns !== first)
      throw new InputError(
        `the states of batched runs must be equally wide, and run 1 has ${first} columns where run ${index + 2} has ${columns}; train them in separate runs`,
      );
}
