import {
  asksPaidDetectors,
  filesOfQueryExperiment,
  queryExperimentSchema,
  resolveQueryExperiment,
} from '../query-agent/experiment.ts';
import { queryMetrics, scoreQueryRun } from '../query-agent/result.ts';
import { type ExperimentKind, trainedAlone } from './experiment-kind.ts';

export const queryAgentKind: ExperimentKind = {
  name: 'several-detectors',
  metrics: queryMetrics.map(({ of: _, ...metric }) => ({ ...metric, isShown: true })),
  objective: 'meanReturn',
  score: (path, part) =>
    scoreQueryRun(path, part).map(({ title, values }, index) => ({
      name: title,
      role: index === 0 ? 'learnt' : 'baseline',
      values,
    })),
  soleVariant: 'agent',
  dataOverride: (path) => ({ data: { threads: path } }),
  resolve(raw, source) {
    const experiment = resolveQueryExperiment(raw, source);
    const { data, split, detectors, task } = experiment;
    return {
      ...trainedAlone(experiment),
      threadFiles: [data.threads].filter((file) => file !== null),
      files: filesOfQueryExperiment(experiment),
      sweepProblem: null,
      asksModels: asksPaidDetectors(experiment),
      detectorKey: JSON.stringify([data, split, detectors, task]),
    };
  },
  async start({ runs }) {
    // Loaded by the process that trains, and not by those that only divide the work.
    const { runQueryTrial } = await import('../query-agent/trial.ts');
    return ([{ config, seed, directory }], context) =>
      runQueryTrial({ experiment: queryExperimentSchema.parse(config), seed, directory, runs, context });
  },
};
