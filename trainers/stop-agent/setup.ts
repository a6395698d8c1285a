import type { ExpertName } from '../../experts/trajectories.ts';
import { InputError } from '../../src/errors.ts';
import { resetOptimizer } from '../../src/tensor/adam.ts';
import { columnMoments, type Moments, standardized } from '../../src/tensor/normalizer.ts';
import { Random } from '../../src/tensor/random.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { cloneEpoch, pairsToCopy, type WeightedPairs } from '../behavior-cloning.ts';
import type { Pairs } from '../discriminator.ts';
import { createPolicyValue, disposePolicyValue, type PolicyValue } from '../policy-value.ts';
import { demonstrationPairs } from './pairs.ts';
import type { StopAgentSettings } from './problem.ts';

/** The start of every trainer of a stop agent: a network and the standardised states that it reads. */
export interface StopLearner extends StopAgentSettings {
  readonly agent: PolicyValue;
  readonly states: RowTable;
  /** Moments that standardise the states. */
  readonly moments: Moments;
  /** Draws initial weights, and the order in which demonstrations are copied. */
  weightRandom: Random;
}

/**
 * Standardised states and a network of random weights that stops with the probability asked for, or of a copy of the demonstrations.
 * The caller disposes it with `disposeLearner`.
 * @throws InputError when the states have no columns, or there is nothing to copy
 */
export async function createLearner(
  settings: StopAgentSettings,
  { hasCritic }: { hasCritic: boolean },
): Promise<StopLearner> {
  const { config, problem, seed } = settings;
  const { table } = problem;
  if (table.columns === 0)
    throw new InputError('the states have no columns: the agent would see nothing; let it see posts or a student');
  const moments = columnMoments(table);
  const weightRandom = Random.seeded({ seed, purpose: 'stop-agent weights' });
  const { hidden, initialStopProbability: p } = config;
  const agent = createPolicyValue({
    inputs: table.columns,
    actions: 2,
    hidden,
    hasCritic,
    random: weightRandom,
    logits: [0, Math.log(p / (1 - p))],
  });
  const states = new RowTable(standardized(table, moments));
  const learner = { ...settings, agent, states, moments, weightRandom };
  if (config.initialization === 'behavior-cloning') await copyDemonstrations(learner);
  return learner;
}

export function disposeLearner({ agent, states }: StopLearner): void {
  disposePolicyValue(agent);
  states.dispose();
}

/** State-action pairs of one expert. */
export function pairsOf({ problem, config }: StopAgentSettings, expert: ExpertName): Pairs {
  const demonstrations = problem.demonstrations.filter((demonstration) => demonstration.expert === expert);
  return demonstrationPairs(problem.table, demonstrations, config);
}

/** The pairs that are copied. */
export function guidance(settings: StopAgentSettings): WeightedPairs {
  return pairsToCopy({
    conservative: pairsOf(settings, 'conservative'),
    earlyAction: pairsOf(settings, 'earlyAction'),
    weights: settings.config.imitation,
  });
}

/** Behaviour cloning before another algorithm takes over, whose optimiser then starts from nothing. */
async function copyDemonstrations(learner: StopLearner): Promise<void> {
  const { config, agent, states, weightRandom: random } = learner;
  const pairs = guidance(learner);
  for (let epoch = 0; epoch < config.behaviorCloning.epochs; epoch++)
    await cloneEpoch(agent, pairs, { states, config: config.behaviorCloning, random });
  resetOptimizer(agent);
}
