import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { isTaskFile, withClasses } from '../config/own-task.ts';
import { detectorDecisionSchema, detectorName, repliesInWords, repliesOf } from '../detectors/decisions.ts';
import { asksModels, detectorsExperimentSchema, filesOf, resolveDetectorsExperiment } from '../detectors/experiment.ts';
import { detectorsResult, readDetectorsResult } from '../detectors/result.ts';
import { byReplies, detectorMetrics, detectorScoring } from '../detectors/scores.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type ComparedPair, compareSystems, firstRunIn } from '../run/compare-systems.ts';
import { type EvaluationSplit, readDecisions } from '../run/decisions-file.ts';
import { scoresOf } from '../run/scoring.ts';
import { type ExperimentKind, type ScoredSystem, simpleExperiment, splitProblem } from './experiment-kind.ts';

/** The detector after the most replies comes first. */
function scoreDetectors(path: string, part: EvaluationSplit): ScoredSystem[] {
  const labels = detectorsResult.read(RunDirectory.open(path));
  const decided = byReplies(readDecisions(path, detectorDecisionSchema, part));
  return Array.from(decided)
    .reverse()
    .map(([replies, decisions], index) => ({
      name: index === 0 ? detectorName : `${detectorName} after ${repliesInWords(replies)}`,
      role: index === 0 ? 'learnt' : 'baseline',
      values: scoresOf(detectorScoring(labels), decisions),
    }));
}

/** Compares two detectors by every metric, after each number of replies that both read. */
function compareDetectors(compared: ComparedPair, { seed }: { seed: number }): ComparedPlace[] {
  const labels = readDetectorsResult(firstRunIn(compared[0].folder));
  return compareSystems(compared, {
    items: 'item',
    labelsOf: (run) => readDetectorsResult(run).labels,
    read: (run) => [...readDetectorsResult(run).decisions.values()].flat(),
    titleOf: (place) => `After ${repliesInWords(repliesOf({ place }))}`,
    scoringOf: () => detectorScoring(labels),
    seed,
  });
}

export const detectorsKind: ExperimentKind = {
  name: 'detectors',
  schema: detectorsExperimentSchema,
  metrics: detectorMetrics,
  objective: 'macroF1',
  score: scoreDetectors,
  learnt: detectorName,
  compare: compareDetectors,
  report: async () => (await import('../detectors/report/detectors-report.ts')).detectorsReport,
  soleVariant: 'detector',
  dataOverride: (path) => ({ data: { threads: path } }),
  async resolve(raw, source) {
    const isFile = typeof raw.task === 'string' && isTaskFile(raw.task);
    const experiment = resolveDetectorsExperiment(isFile ? raw : await withClasses(raw, source), source);
    const { data, split, detector, task } = experiment;
    return {
      ...simpleExperiment(experiment),
      threadFiles: [data.threads].filter((file) => file !== null),
      files: filesOf(experiment),
      sweepProblem: splitProblem(split),
      asksModels: asksModels(experiment),
      detectorKey: detector.name === 'local' ? JSON.stringify([data, split, detector, task]) : null,
    };
  },
  async start({ runs }) {
    // Loaded by the process that judges, and not by those that only divide the work.
    const { runDetectorTrial } = await import('../detectors/trial.ts');
    return ({ config, seed, directory }, context) =>
      runDetectorTrial({ experiment: detectorsExperimentSchema.parse(config), seed, directory, runs, context });
  },
};
