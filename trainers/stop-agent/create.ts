import type { Trainer } from '../trainer.ts';
import { createCloning } from './cloning-trainer.ts';
import type { Algorithm } from './config.ts';
import { createDqn } from './dqn-trainer.ts';
import { createExactPolicyGradient } from './exact-policy-gradient-trainer.ts';
import { createImitation } from './imitation-trainer.ts';
import type { StopPolicy } from './policy.ts';
import type { StopAgentSettings } from './problem.ts';

type Create = (settings: StopAgentSettings) => Promise<Trainer<StopPolicy>>;

/** A new algorithm is a file, a line here and a name in `algorithms` (config.ts). */
const trainers: Readonly<Record<Algorithm, Create>> = {
  imitation: createImitation,
  'behavior-cloning': createCloning,
  'exact-policy-gradient': createExactPolicyGradient,
  settled: createCloning,
  dqn: createDqn,
};

/**
 * The trainer of a stop agent, by its `algorithm`. The caller disposes it.
 * @throws InputError when the problem gives the algorithm nothing to learn from
 */
export async function createStopAgent(settings: StopAgentSettings): Promise<Trainer<StopPolicy>> {
  return trainers[settings.config.algorithm](settings);
}
