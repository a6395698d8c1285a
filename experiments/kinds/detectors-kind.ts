import { asksModels, detectorsExperimentSchema, filesOf, resolveDetectorsExperiment } from '../detectors/experiment.ts';
import type { ExperimentKind } from './experiment-kind.ts';
import { detectorSweepMetrics, scoreDetectors } from './scores.ts';

export const detectorsKind: ExperimentKind = {
  name: 'detectors',
  metrics: detectorSweepMetrics,
  objective: 'macroF1',
  score: scoreDetectors,
  soleVariant: 'detector',
  dataOverride: (path) => ({ data: { threads: path } }),
  resolve(raw, source) {
    const experiment = resolveDetectorsExperiment(raw, source);
    const { name, description, seeds, data, split, detector, task } = experiment;
    return {
      name,
      description,
      seeds,
      config: { ...experiment },
      files: filesOf(experiment),
      sweepProblem:
        split.development > 0
          ? null
          : 'settings are chosen on a development part, and split.development is 0; give it threads, such as 100',
      asksModels: asksModels(detector),
      detectorKey: detector.name === 'local' ? JSON.stringify([data, split, detector, task]) : null,
      // A detector is judged alone: there is nothing to train together.
      backend: null,
      shape: null,
      iterations: null,
    };
  },
  async start({ runs }) {
    // Loaded by the process that judges, and not by those that only divide the work.
    const { runDetectorTrial } = await import('../detectors/trial.ts');
    return ([{ config, seed, directory }], context) =>
      runDetectorTrial({ experiment: detectorsExperimentSchema.parse(config), seed, directory, runs, context });
  },
};
