import { resolveSelectorExperiment, selectorExperimentSchema } from '../selector/experiment.ts';
import type { ExperimentKind } from './experiment-kind.ts';
import { scoreSelectorRun, selectorSweepMetrics } from './scores.ts';

export const selectorKind: ExperimentKind = {
  name: 'selector',
  metrics: selectorSweepMetrics,
  objective: 'veracity.macroF1',
  score: scoreSelectorRun,
  soleVariant: 'agent',
  dataOverride: (path) => ({ data: { train: path } }),
  resolve(raw, source) {
    const experiment = resolveSelectorExperiment(raw, source);
    const { name, description, seeds, data, evaluation, stanceModel, veracityModel } = experiment;
    return {
      name,
      description,
      seeds,
      config: { ...experiment },
      files: [data.train, data.stancePretraining, ...Object.values(data.tests)].filter((file) => file !== null),
      sweepProblem:
        evaluation.heldOutShare > 0
          ? null
          : 'settings are chosen on the threads held out from the tests, and evaluation.heldOutShare is 0; give a share, such as 0.2',
      asksModels: stanceModel.name === 'chat' || veracityModel.name === 'chat',
      detectorKey: null,
      // Its task models serve one selector.
      backend: null,
      shape: null,
      iterations: null,
    };
  },
  async start({ runs }) {
    // Loaded by the process that trains, and not by those that only divide the work.
    const [{ runEventFolds }, { selectorWorkshop }, { runSelectorTrial }] = await Promise.all([
      import('../selector/event-folds.ts'),
      import('../selector/workshop.ts'),
      import('../selector/trial.ts'),
    ]);
    // Stays open until the process ends, because nobody knows which trial is the last.
    const workshop = selectorWorkshop({ runs });
    return async ([{ config, seed, directory }], context) => {
      const experiment = selectorExperimentSchema.parse(config);
      if (experiment.data.heldOutEvents === 'each')
        return runEventFolds({ experiment, seed, directory, workshop, context });
      const shared = await workshop.sharedFor(experiment, context);
      return runSelectorTrial({ experiment, seed, directory, shared, context });
    };
  },
};
