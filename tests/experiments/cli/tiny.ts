/* Experiments that run in a second, for tests and for benchmarks: nothing here needs a test runner. */

/** Settings that train in a second; JSON is YAML. */
export const tiny = {
  name: 'tiny',
  seeds: [1],
  backend: 'wasm',
  data: { synthetic: { threads: 60, seed: 1 } },
  split: { detector: 20, demonstrations: 12, environment: 12, test: 16 },
  encoder: { name: 'hashing', dimensions: 32 },
  detector: { characterWeights: [1], l2: [1e-3], folds: 2 },
  agent: {
    iterations: 4,
    hidden: 8,
    imitation: {
      discriminator: { hidden: 8, batchSize: 16, epochs: 1, warmupIterations: 0 },
      ppo: { stepsPerIteration: 32, epochs: 1, minibatches: 1 },
    },
    // Of the baseline beside it, too.
    behaviorCloning: { epochs: 2 },
  },
  checkpointEvery: 2,
  evaluation: { resamples: 20, firstPosts: [1, 4], hours: [1], confidences: [0.8] },
};

const { name: _, seeds: __, ...experiment } = tiny;

/** A sweep over three settings and two seeds that runs in seconds; JSON is YAML. */
export const tinySweep = {
  kind: 'sweep',
  name: 'tiny-sweep',
  seeds: [1, 2],
  experiment: {
    ...experiment,
    split: { detector: 16, demonstrations: 12, environment: 10, test: 10, development: 10 },
    checkpointEvery: 1,
  },
  space: { 'agent.imitation.alpha': [0.6, 0.7, 0.8] },
};
