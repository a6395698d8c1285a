import { initialState } from '../../envs/stop-env.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import { createDiscriminators, disposeDiscriminator } from '../discriminator.ts';
import { disposeLabelled, labelledBatch } from '../exact-policy-gradient.ts';
import { agentWeight, discriminatorTasks } from '../expert-weights.ts';
import { initialRunningReturn } from '../gae.ts';
import { type GailTraining, gail } from '../gail.ts';
import type { Trainer } from '../trainer.ts';
import { imitationState, restoreImitation } from './imitation-checkpoint.ts';
import { labelledRows } from './labelled-threads.ts';
import { imitationMetrics } from './metrics.ts';
import { learnerPolicy } from './network-state.ts';
import type { StopPolicy } from './policy.ts';
import type { StopAgentSettings } from './problem.ts';
import { createLearner, disposeLearner, pairsOf, type StopLearner } from './setup.ts';

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
 * @throws InputError when there is nothing to imitate, or no thread to roam
 */
export async function createImitation(settings: StopAgentSettings): Promise<Trainer<StopPolicy>> {
  checkProblem(settings);
  const learner = await createLearner(settings, { hasCritic: true });
  const training = startTraining(learner);
  const config = settings.config.imitation;
  const iterations = gail(training);

  return {
    algorithm: 'imitation',
    iterations: settings.config.iterations,
    get iteration() {
      return training.iteration;
    },
    async iterate() {
      const { value, done } = await iterations.next();
      if (done) throw new Error('the training is over, or an iteration failed before');
      return imitationMetrics(config, value);
    },
    policy: () => learnerPolicy(learner),
    state: () => imitationState(training, learner),
    restore: (state) => restoreImitation(training, state),
    dispose() {
      if (training.task !== null) disposeLabelled(training.task);
      training.discriminators.forEach(disposeDiscriminator);
      disposeLearner(learner);
    },
  };
}

/** Before the first iteration. */
function startTraining(learner: StopLearner): GailTraining {
  const { seed, problem, agent, states, weightRandom } = learner;
  const { imitation: config, iterations } = learner.config;
  const pairs = { conservative: pairsOf(learner, 'conservative'), earlyAction: pairsOf(learner, 'earlyAction') };
  const weight = config.taskWeight;
  const labelled = weight > 0 ? labelledRows(learner) : null;
  const tasks = discriminatorTasks(config, { ...pairs, misleading: pairsOf(learner, 'misleading') });
  return {
    config,
    iterations,
    states,
    environment: {
      table: problem.table,
      threads: problem.environment,
      episodeEnd: config.episodeEnd,
      afterStop: config.afterStop,
    },
    environmentState: initialState(),
    agent,
    discriminators: createDiscriminators(tasks, {
      inputs: problem.table.columns,
      config: config.discriminator,
      random: weightRandom,
    }),
    runningReturn: initialRunningReturn(),
    task: labelled && labelledBatch(states.takePadded(labelled.rows), { ...labelled, weight }),
    random: Random.seeded({ seed, purpose: 'stop-agent training' }),
    iteration: 0,
  };
}

function checkProblem({ problem, config }: StopAgentSettings): void {
  const { demonstrations, environment } = problem;
  if (environment.length === 0)
    throw new InputError(
      `no thread is left for the environment: none of its threads has ${config.minPosts} posts; lower agent.minPosts, or give threads with more posts`,
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
