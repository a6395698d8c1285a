import type { z } from 'zod';
import { buildStateTable } from '../../../envs/state-table.ts';
import { Random } from '../../../src/tensor/random.ts';
import { stopAgentSchema } from '../../../trainers/stop-agent/config.ts';
import type {
  LabelledThread,
  StopAgentSettings,
  StopProblem,
  TableDemonstration,
} from '../../../trainers/stop-agent/problem.ts';

export type AgentInput = z.input<typeof stopAgentSchema>;

const dimensions = 8;
const lengths = [3, 5, 1, 7, 4, 6, 2, 9, 3, 1, 8, 5];

/** Threads 0–5 demonstrate, 6–11 are roamed. Experts of all three kinds unless some are left out. */
export function smallProblem(options: { left?: readonly string[]; seed?: number } = {}): StopProblem {
  const { left = [], seed = 1 } = options;
  const random = Random.seeded({ seed, purpose: 'synthetic data' });
  const vector = (length: number) => Float32Array.from({ length }, () => random.normal());
  const table = buildStateTable({
    threads: lengths.map((posts) => ({ posts, embeddings: vector(posts * dimensions) })),
    dimensions,
    actionEmbeddings: [vector(dimensions), vector(dimensions)],
  });
  const demonstrations: TableDemonstration[] = [
    { expert: 'conservative', thread: 0, stopStep: 1 },
    { expert: 'conservative', thread: 1, stopStep: 3 },
    { expert: 'conservative', thread: 3, stopStep: 0 },
    { expert: 'earlyAction', thread: 1, stopStep: 0 },
    { expert: 'earlyAction', thread: 4, stopStep: 2 },
    { expert: 'misleading', thread: 4, stopStep: 3 },
    { expert: 'misleading', thread: 5, stopStep: 0 },
  ];
  return {
    table,
    environment: Int32Array.of(6, 7, 8, 9, 10, 11),
    demonstrations: demonstrations.filter(({ expert }) => !left.includes(expert)),
    labelled: new Map(
      [0, 1, 3].map((thread) => [
        thread,
        {
          right: Uint8Array.from({ length: lengths[thread] }, (_, step) => Number(step > 0)),
          probability: new Float32Array(lengths[thread]).fill(0.8),
          ...everyPost(lengths[thread]),
          weight: 1.5,
        },
      ]),
    ),
  };
}

/** A labelled thread whose agent may stop at every post and queries its detector there only; its judgement changes once. */
export function everyPost(posts: number): Pick<LabelledThread, 'isFinal' | 'shareSeen' | 'queries'> {
  return {
    isFinal: Uint8Array.from({ length: posts }, (_, step) => Number(step > 0 || posts === 1)),
    shareSeen: Float32Array.from({ length: posts }, (_, step) => (step + 1) / posts),
    queries: new Float32Array(posts).fill(1),
  };
}

const small = {
  iterations: 2,
  hidden: 6,
  imitation: {
    ppo: { stepsPerIteration: 16, epochs: 2, minibatches: 2, learningRate: 3e-3 },
    discriminator: {
      hidden: 7,
      batchSize: 8,
      epochs: 1,
      warmupEpochs: 2,
      warmupIterations: 1,
      learningRate: 1e-3,
    },
  },
  task: { learningRate: 3e-3 },
  behaviorCloning: { epochs: 2, batchSize: 8 },
  dqn: { stepsPerIteration: 24, updates: 3, batchSize: 8, memory: 30, learningRate: 3e-3 },
} satisfies AgentInput;

/** The small options with more on top. */
export function smallConfig(more: AgentInput = {}) {
  return stopAgentSchema.parse({
    ...small,
    ...more,
    imitation: {
      ...small.imitation,
      ...more.imitation,
      ppo: { ...small.imitation.ppo, ...more.imitation?.ppo },
      discriminator: { ...small.imitation.discriminator, ...more.imitation?.discriminator },
    },
    task: { ...small.task, ...more.task },
    behaviorCloning: { ...small.behaviorCloning, ...more.behaviorCloning },
    dqn: { ...small.dqn, ...more.dqn },
  });
}

export function smallSettings(
  options: { seed?: number; more?: AgentInput; problem?: StopProblem } = {},
): StopAgentSettings {
  const { seed = 1, more = {}, problem = smallProblem() } = options;
  return { seed, config: smallConfig(more), problem };
}
