import { buildStateTable } from '../../envs/state-table.ts';
import { Random } from '../../src/tensor/random.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { trainStopAgent } from '../../trainers/stop-agent/loop.ts';
import {
  createStopAgentTraining,
  disposeStopAgentTraining,
  type StopAgentData,
} from '../../trainers/stop-agent/setup.ts';

/** Noise in the shape of the paper's data: 50 + 100 threads with a median of 16 posts, and all three experts. */
export function paperShapedData(dimensions: number): StopAgentData {
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
  const config = stopAgentSchema.parse({ iterations: 3, gail: { warmupIterations: 0 } });
  const training = createStopAgentTraining(paperShapedData(dimensions), [{ seed: 1, config }]);
  let startedMs = 0;
  await trainStopAgent(training, {
    onIteration: ({ iteration }) => {
      if (iteration === 1) startedMs = performance.now();
    },
  });
  const tookMs = (performance.now() - startedMs) / 2;
  disposeStopAgentTraining(training);
  return tookMs;
}
