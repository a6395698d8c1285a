import { stopIn } from '../../../checkpoints/policy/stops.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { thresholds } from '../calibrate.ts';
import { readStopProbabilities } from '../decided-files.ts';
import { alertsOf, decide, type SystemDecisions } from '../decisions.ts';
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
            const alertOf = alertsOf(taskOf(experiment));
            const stops = judged.map((thread) => {
              const isAlert = alertOf(thread);
              const posts = (scores.get(thread.threadId) ?? []).map((score, index) => ({
                score: isAlert === null || isAlert(index + 1) ? score : 0,
                hours: thread.hours[index],
              }));
              return stopIn({ threshold, limits: limitsOf(experiment) }, posts);
            });
            return decide(agent.name, judged, stops, agentQueries({ experiment, schedule: result.schedule }));
          }),
        }));
    },
  ).flat();
}
