import { buildStateTable } from '../../envs/state-table.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import type { BackendName } from '../../src/tensor/backend-names.ts';
import { Random } from '../../src/tensor/random.ts';
import { workContext } from '../../src/work-context.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { createImitation } from '../../trainers/stop-agent/imitation-trainer.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';

/** A problem of the paper's shape with noise for content: 50 + 100 threads with a median of 16 posts, all three experts. */
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

/**
 * Milliseconds of an iteration on the current backend. A second of training precedes the measurement, in which graphs
 * are traced, a GPU's kernels are made and V8 compiles hot code. A second iteration that takes seconds is the result.
 */
export async function timeTrainingStep({ dimensions }: { dimensions: number }): Promise<number> {
  const config = stopAgentSchema.parse({
    iterations: 1000,
    imitation: { discriminator: { warmupIterations: 0 } },
  });
  const problem = paperShapedProblem(dimensions);
  const trainer = await createImitation({ seed: 1, config, problem });
  const meanMs = async (atLeastMs: number) => {
    const startedMs = performance.now();
    let iterations = 0;
    do {
      await trainer.iterate(workContext());
      iterations++;
    } while (performance.now() - startedMs < atLeastMs);
    return (performance.now() - startedMs) / iterations;
  };
  const firstMs = await meanMs(0);
  const secondMs = firstMs > hopelessMs ? firstMs : await meanMs(0);
  const isLong = secondMs > longMs;
  if (!isLong) await meanMs(timedMs);
  const tookMs = isLong ? secondMs : await meanMs(timedMs);
  trainer.dispose();
  return tookMs;
}

const longMs = 4000;
/** On a GPU the first iteration takes seconds and the next one less than a second. */
const hopelessMs = 30_000;
const timedMs = 1000;

export interface Timing {
  readonly device: string | null;
  /** Milliseconds of one run's iteration; null if the backend does not work. */
  readonly iterationMs: number | null;
  readonly problem: string | null;
}

/** Times an iteration on a backend, which stays current. */
export async function timeBackend(name: BackendName, options: { dimensions: number }): Promise<Timing> {
  try {
    const { device } = await selectBackend(name);
    return { device, iterationMs: await timeTrainingStep(options), problem: null };
  } catch (error) {
    return { device: null, iterationMs: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
