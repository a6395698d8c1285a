import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { overSeeds } from '../report/shown-numbers.ts';
import { type ComparedPair, compareSystems } from '../run/compare-systems.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import { selectorName, taskOf } from '../selector/decisions.ts';
import { resolveSelectorExperiment, selectorExperimentSchema } from '../selector/experiment.ts';
import { decisionsByTest, readSelectorResult } from '../selector/result.ts';
import { selectorMetrics, selectorScoring, taskScores } from '../selector/scores.ts';
import { type ExperimentKind, type ScoredSystem, simpleExperiment } from './experiment-kind.ts';

const measured = (['veracity', 'stance'] as const).flatMap((task) =>
  selectorMetrics.map((metric) => ({ task, metric, name: `${task}.${metric.name}` })),
);

/** Means over the test sets. The development part is the part held out of them. */
function scoreSelectorRun(path: string, part: EvaluationSplit): ScoredSystem[] {
  const read = readSelectorResult(RunDirectory.open(path));
  return read.systems.map((name) => {
    const decided = [...decisionsByTest(read, { system: name, part }).values()];
    const values = measured.map(({ task, metric, name: key }) => {
      return [
        key,
        overSeeds(decided.map((decisions) => taskScores(task, decisions)?.values[metric.name]))?.mean ?? null,
      ] as const;
    });
    const seesLabels = name === 'right-labels' || name === 'supervised';
    return {
      name,
      role: name === selectorName ? 'learnt' : seesLabels ? 'oracle' : 'baseline',
      values: Object.fromEntries(values),
    };
  });
}

function compareSelectors(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  return compareSystems(compared, {
    items: 'item',
    read: (run) => readSelectorResult(run).decisions.filter(({ part }) => part === 'test'),
    titleOf: ({ test, task }) => `${test}: ${task}`,
    scoringOf: (place) => selectorScoring(taskOf({ place })),
    seed,
  });
}

export const selectorKind: ExperimentKind = {
  name: 'selector',
  schema: selectorExperimentSchema,
  metrics: measured.map(({ task, metric, name }) => ({ ...metric, name, title: `${task} ${metric.title}` })),
  objective: 'veracity.macroF1',
  score: scoreSelectorRun,
  learnt: selectorName,
  compare: compareSelectors,
  report: async () => (await import('../selector/report/selector-report.ts')).selectorReport,
  soleVariant: 'agent',
  dataOverride: (path) => ({ data: { train: path } }),
  resolve(raw, source) {
    const experiment = resolveSelectorExperiment(raw, source);
    const { data, evaluation, stanceModel, veracityModel } = experiment;
    const files = [data.train, data.stancePretraining, ...Object.values(data.tests)].filter((file) => file !== null);
    return {
      ...simpleExperiment(experiment),
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
    const { runEventFolds } = await import('../selector/event-folds.ts');
    const { selectorResources } = await import('../selector/selector-resources.ts');
    const { runSelectorTrial } = await import('../selector/trial.ts');
    // Stays open until the process ends, because nobody knows which trial is the last.
    const resources = selectorResources({ runs });
    return async ({ config, seed, directory }, context) => {
      const experiment = selectorExperimentSchema.parse(config);
      if (experiment.data.heldOutEvents === 'each')
        return runEventFolds({ experiment, seed, directory, resources, context });
      const shared = await resources.sharedFor(experiment, context);
      return runSelectorTrial({ experiment, seed, directory, shared, context });
    };
  },
};
