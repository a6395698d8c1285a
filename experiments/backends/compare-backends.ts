import type { z } from 'zod';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { BackendName } from '../../src/tensor/backend-names.ts';
import { workContext } from '../../src/work-context.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import { paperShapedProblem } from './time-training-step.ts';

/**
 * Trains one agent at the paper's shapes on both backends. The second one stays current.
 * @param options options of the agent, and the width of its states
 * @throws InputError if a backend does not work here
 */
export async function compareBackends(
  names: readonly [BackendName, BackendName],
  { dimensions, ...agent }: { dimensions: number } & z.input<typeof stopAgentSchema>,
) {
  const config = stopAgentSchema.parse(agent);
  const trained: Float32Array[][] = [];
  for (const name of names) {
    await selectBackend(name);
    const trainer = await createStopAgent({ seed: 1, config, problem: paperShapedProblem(dimensions) });
    while (trainer.iteration < trainer.iterations) await trainer.iterate(workContext());
    const { parameters } = await trainer.policy();
    trained.push(Object.values(parameters).map(({ data }) => data));
    trainer.dispose();
  }
  const [one, other] = trained;
  let weights = 0;
  let largestWeight = 0;
  for (const [index, matrix] of one.entries())
    for (const [place, value] of matrix.entries()) {
      weights = Math.max(weights, Math.abs(value - other[index][place]));
      largestWeight = Math.max(largestWeight, Math.abs(value));
    }
  return { iterations: config.iterations, weights, largestWeight };
}
