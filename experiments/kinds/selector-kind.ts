import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import { resolveSelectorExperiment, selectorExperimentSchema } from '../selector/experiment.ts';
import { readSelectorResult } from '../selector/result.ts';
import { selectorMetrics } from '../selector/scores.ts';
import { selectorName } from '../selector/system-names.ts';
import { type ExperimentKind, type ScoredSystem, type SweepMetric, trainedAlone } from './experiment-kind.ts';

const measured = (['veracity', 'stance'] as const).flatMap((task) =>
  selectorMetrics.map((metric) => ({ task, metric, name: `${task}.${metric.name}` })),
);
const selectorSweepMetrics = measured.map(({ task, metric: { title }, name }): SweepMetric => {
  return { name, title: `${task} ${title}`, decimals: 3, range: [0, 1], isShown: true };
});

/** Means over the test sets. The development part is what was held out of them. */
function scoreSelectorRun(path: string, part: EvaluationSplit): ScoredSystem[] {
  const { systems } = readSelectorResult(RunDirectory.open(path));
  return systems.map(({ name, tests, heldOut }) => {
    const scored = Object.values(part === 'test' ? tests : heldOut);
    const values = measured.map(({ task, metric, name: key }) => {
      const known = scored.flatMap((own) => own[task]?.values[metric.name] ?? []);
      return [key, known.length === 0 ? null : mean(known)] as const;
    });
    const seesLabels = name === 'right-labels' || name === 'supervised';
    return {
      name,
      role: name === selectorName ? 'learnt' : seesLabels ? 'oracle' : 'baseline',
      values: Object.fromEntries(values),
    };
  });
}

export const selectorKind: ExperimentKind = {
  name: 'selector',
  metrics: selectorSweepMetrics,
  objective: 'veracity.macroF1',
  score: scoreSelectorRun,
  soleVariant: 'agent',
  dataOverride: (path) => ({ data: { train: path } }),
  resolve(raw, source) {
    const experiment = resolveSelectorExperiment(raw, source);
    const { data, evaluation, stanceModel, veracityModel } = experiment;
    const files = [data.train, data.stancePretraining, ...Object.values(data.tests)].filter((file) => file !== null);
    return {
      ...trainedAlone(experiment),
      threadFiles: files,
      files,
      sweepProblem:
        evaluation.heldOutShare > 0
          ? null
          : 'settings are chosen on the threads held out from the tests, and evaluation.heldOutShare is 0; give a share, such as 0.2',
      asksModels: stanceModel.name === 'chat' || veracityModel.name === 'chat',
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
