import { expertNames } from '../../experts/trajectories.ts';
import { InputError } from '../../src/errors.ts';
import type { DiscriminatorHealth } from '../discriminator.ts';
import { generalizedAdvantages, scaleRewards } from '../gae.ts';
import { agentWeight, updateDiscriminator } from '../gail.ts';
import { ppoUpdate } from '../ppo.ts';
import type { Metrics, Trainer } from '../trainer.ts';
import { imitationStates, restoreImitation } from './imitation-checkpoint.ts';
import {
  byMember,
  discriminatorEpochs,
  discriminatorMembers,
  disposeImitation,
  type Imitation,
  memberHealth,
  memberRewards,
  perDiscriminator,
  startImitation,
} from './imitation-state.ts';
import { imitationMetrics } from './metrics.ts';
import { learnerPolicies } from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopMember } from './problem.ts';
import { type Collected, collect, type EstimatedSteps } from './rollout.ts';
import { createLearner } from './setup.ts';

/*
 * The stop agent of EARD (§4): PPO against a discriminator of three experts, over the states of a table. What the published code
 * does differently is in docs/reference/papers.md.
 *
 *   point         paper                            here
 *   reward        −log D                           logit, or −log D, over the running std of its discounted sum, or as it is (gail.ts)
 *   order         policy, then discriminator       discriminator, rewards, policy: the published code's order
 *   episode       P goes on after a stop, which     runs to the last post in training, as demonstrations do; `episodeEnd: stop` is the
 *                 "terminates observation" (§4.1)    other reading
 *   state         posts and previous action (§4.1)  their vectors added up, e("Continue.") or e("Stop.") included: the published code's
 *   normaliser    not mentioned                    per feature, exact, from the table of all states
 *
 * `taskWeight` adds the gradient of the task's own return (exact-policy-gradient.ts) to every update of the policy: one weighted
 * gradient, one optimiser.
 */

/**
 * GAIL with PPO as a trainer.
 * @throws InputError when there is nothing to imitate, no thread to roam, or the members do not fit together
 */
export async function createImitation(members: readonly StopMember[]): Promise<Trainer<StopPolicy>> {
  for (const member of members) checkProblem(member);
  const learner = await createLearner(members, { hasCritic: true });
  const training = startImitation(learner);
  const { iterations } = members[0].config;

  return {
    algorithm: 'imitation',
    iterations,
    get iteration() {
      return training.iteration;
    },
    async iterate() {
      const metrics = await iterate(training);
      training.iteration++;
      return metrics;
    },
    policies: () => learnerPolicies(learner),
    state: () => imitationStates(training),
    restore: (states) => restoreImitation(training, states),
    dispose() {
      disposeImitation(training);
    },
  };
}

/** Algorithm 1, one round: lines 2 and 4, 8, 3 and 5, 6 and 7. */
async function iterate(training: Imitation): Promise<Metrics[]> {
  const { learner, members } = training;
  const steps = members[0].config.ppo.stepsPerIteration;
  const collected = await collect(learner, members, { steps });
  const { health, logits } = await discriminate(training, collected);
  const estimated = estimate(training, { collected, logits });
  const { returns, after } = await updatePolicy(training, estimated);
  return members.map(({ config }, index) =>
    imitationMetrics({
      config,
      experts: training.experts,
      discriminator: health[index],
      steps: estimated[index],
      after: after[index],
      expectedReturn: config.taskWeight > 0 ? (returns?.[index] ?? null) : null,
    }),
  );
}

/** Line 8, before the rewards as in the published code: the discriminator learns to tell these steps from the experts'. */
async function discriminate(
  training: Imitation,
  collected: readonly Collected[],
): Promise<{ health: DiscriminatorHealth[]; logits: Float32Array[] }> {
  const { learner, members, discriminator, rowWeights } = training;
  const { health, logits } = await updateDiscriminator(discriminator, perDiscriminator(members, collected), {
    members: discriminatorMembers(members),
    states: learner.states,
    rowWeights,
    epochs: discriminatorEpochs(training),
  });
  return { health: byMember(members, health).map(memberHealth), logits };
}

/** Lines 3 and 5: rewards are the logit, or −log D, over the running standard deviation of their discounted sum. */
function estimate(
  { members }: Imitation,
  { collected, logits }: { collected: readonly Collected[]; logits: readonly Float32Array[] },
): EstimatedSteps[] {
  const ofEach = byMember(members, logits);
  return members.map((member, index) => {
    const own = collected[index];
    const { rewardScale, ppo } = member.config;
    const { discount, gaeLambda } = ppo;
    const { logits, rewards } = memberRewards(member, ofEach[index]);
    const scaled =
      rewardScale === 'none' ? rewards : scaleRewards(member.runningReturn, { rewards, ends: own.ends, discount });
    const estimates = generalizedAdvantages({
      rewards: scaled,
      values: own.values,
      ends: own.ends,
      bootstrapValue: own.nextValue,
      discount,
      lambda: gaeLambda,
    });
    return { ...own, ...estimates, logits, rewards: scaled };
  });
}

/** Lines 6 and 7, and the task's gradient where a member gives it a weight. Returns the expected returns before. */
function updatePolicy(
  { learner, members, iteration, task }: Imitation,
  steps: readonly EstimatedSteps[],
): ReturnType<typeof ppoUpdate> {
  const remaining = 1 - iteration / learner.members[0].config.iterations;
  const ppoMembers = members.map(({ config, random }, member) => ({
    steps: steps[member],
    config: config.ppo,
    random,
  }));
  return ppoUpdate(learner.agent, ppoMembers, { states: learner.states, remaining, task });
}

function checkProblem({ problem, config }: StopMember): void {
  const { demonstrations, environment } = problem;
  if (environment.length === 0)
    throw new InputError(
      `no thread is left for the environment: none of its threads has ${config.minPosts} posts; lower minPosts or give more threads`,
    );
  const shown = expertNames.filter((name) => demonstrations.some(({ expert }) => expert === name));
  const weight = agentWeight(config.imitation, shown);
  if (shown.some((name) => name !== 'misleading') && weight <= 1e-6)
    throw new InputError(
      `nothing is left to imitate: the demonstrations are ${shown.join(' and ')} ones, whose weights come to ${weight.toFixed(3)} (α and β less γ); lower imitation.gamma, or give more demonstration threads`,
    );
  if (!demonstrations.some(({ expert }) => expert !== 'misleading'))
    throw new InputError(
      `there is nothing to imitate: ${demonstrations.length} demonstrations, none of them conservative or early-action. The detector is never right on the demonstration threads; give more of them or another detector`,
    );
}
