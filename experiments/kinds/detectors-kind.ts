import { detectorName, repliesInWords } from '../detectors/decisions.ts';
import { asksModels, detectorsExperimentSchema, filesOf, resolveDetectorsExperiment } from '../detectors/experiment.ts';
import { scoreDetectorRun } from '../detectors/result.ts';
import { detectorMetrics } from '../detectors/scores.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import {
  type ExperimentKind,
  type ScoredSystem,
  type SweepMetric,
  splitProblem,
  trainedAlone,
} from './experiment-kind.ts';

const detectorSweepMetrics: readonly SweepMetric[] = detectorMetrics.map(({ of: _, ...metric }) => ({
  ...metric,
  isShown: metric.name !== 'unanswered',
}));

/** The detector after the most replies comes first. */
function scoreDetectors(path: string, part: EvaluationSplit): ScoredSystem[] {
  return scoreDetectorRun(path, part).map(({ replies, values }, index) => ({
    name: index === 0 ? detectorName : `${detectorName} after ${repliesInWords(replies)}`,
    role: index === 0 ? 'learnt' : 'baseline',
    values,
  }));
}

export const detectorsKind: ExperimentKind = {
  name: 'detectors',
  metrics: detectorSweepMetrics,
  objective: 'macroF1',
  score: scoreDetectors,
  soleVariant: 'detector',
  dataOverride: (path) => ({ data: { threads: path } }),
  resolve(raw, source) {
    const experiment = resolveDetectorsExperiment(raw, source);
    const { data, split, detector, task } = experiment;
    return {
      ...trainedAlone(experiment),
      threadFiles: [data.threads].filter((file) => file !== null),
      files: filesOf(experiment),
      sweepProblem: splitProblem(split),
      asksModels: asksModels(detector),
      detectorKey: detector.name === 'local' ? JSON.stringify([data, split, detector, task]) : null,
    };
  },
  async start({ runs }) {
    // Loaded by the process that judges, and not by those that only divide the work.
    const { runDetectorTrial } = await import('../detectors/trial.ts');
    return ([{ config, seed, directory }], context) =>
      runDetectorTrial({ experiment: detectorsExperimentSchema.parse(config), seed, directory, runs, context });
  },
};
