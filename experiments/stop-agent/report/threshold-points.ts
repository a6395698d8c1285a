import { groupBy } from '../../../src/data/group-by.ts';
import { thresholds } from '../calibrate.ts';
import { readStopProbabilities } from '../decided-files.ts';
import { decide, type SystemDecisions, stopByScores } from '../decisions.ts';
import { taskOf } from '../experiment.ts';
import { agentQueries, limitsOf } from '../policy-settings.ts';
import type { ReadRun } from './read-runs.ts';

/** Every so many of the thresholds that `calibrate` tries: neighbours decide alike. */
const every = 4;

/** What settled agents decide at other thresholds than their own: one training serves them all. An entry per seed. */
export function thresholdPoints(runs: readonly ReadRun[]): { name: string; seeds: SystemDecisions[] }[] {
  const settled = runs.filter(({ experiment }) => experiment.agent.algorithm === 'settled');
  return Array.from(
    groupBy(settled, ({ variant }) => variant),
    ([variant, own]) => {
      const scored = own.flatMap((run) => {
        const { result, experiment } = run;
        const scores = readStopProbabilities(result.directory, experiment.evaluation.part);
        return scores === null ? [] : [{ run, scores }];
      });
      if (scored.length < own.length) return [];
      return thresholds
        .filter((_, index) => index % every === 1)
        .map((threshold) => ({
          name: `${variant} at ${Number(threshold.toPrecision(3))}`,
          seeds: scored.map(({ run: { experiment, judged, result, agent }, scores }) => {
            const queries = agentQueries({ experiment, schedule: result.schedule });
            const policy = { threshold, limits: limitsOf(experiment), queries, task: taskOf(experiment) };
            const stops = judged.map((thread) => stopByScores(thread, scores.get(thread.threadId) ?? [], policy));
            return decide(agent.name, judged, stops, queries);
          }),
        }));
    },
  ).flat();
}
