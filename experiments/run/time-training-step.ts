import { buildStateTable } from '../../envs/state-table.ts';
import { Random } from '../../src/tensor/random.ts';
import { workContext } from '../../src/work-context.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { createImitation } from '../../trainers/stop-agent/imitation-trainer.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';

/** A problem of the paper's shape: 50 + 100 threads with a median of 16 posts, all three experts; noise for content. */
export function paperShapedProblem(dimensions: number): StopProblem {
  const random = Random.seeded({ seed: 1, purpose: 'paper-shaped data' });
  const vector = (length: number) => Float32Array.from({ length }, () => random.normal());
  const lengths = Array.from({ length: 150 }, () => Math.max(3, Math.round(16 * Math.exp(0.6 * random.normal()))));
  return {
    table: buildStateTable({
      threads: lengths.map((posts) => ({ posts, embeddings: vector(posts * dimensions) })),
      dimensions,
      actionEmbeddings: [vector(dimensions), vector(dimensions)],
    }),
    environment: Int32Array.from({ length: 100 }, (_, index) => 50 + index),
    demonstrations: lengths.slice(0, 50).flatMap((posts, thread) =>
      (['conservative', 'earlyAction', 'misleading'] as const).map((expert) => ({
        expert,
        thread,
        stopStep: random.integer(posts),
      })),
    ),
    labelled: new Map(),
  };
}

/** Milliseconds that an iteration of the stop agent takes on the current backend: the mean of two, after one to warm up. */
export async function timeTrainingStep(dimensions: number): Promise<number> {
  const config = stopAgentSchema.parse({
    iterations: 3,
    imitation: { discriminator: { warmupIterations: 0 } },
  });
  const trainer = await createImitation([{ seed: 1, config, problem: paperShapedProblem(dimensions) }]);
  await trainer.iterate(workContext());
  const startedMs = performance.now();
  while (trainer.iteration < trainer.iterations) await trainer.iterate(workContext());
  const tookMs = (performance.now() - startedMs) / 2;
  trainer.dispose();
  return tookMs;
}
