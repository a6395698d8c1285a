import type { PrefixSchedule } from '../../experts/prefix-schedule.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';
import type { Experiment } from './experiment.ts';
import { schedulesOf } from './state-options.ts';

/*
 * When an agent queries its detector. `querySchedule: best` trains an exact-policy-gradient agent for each candidate and takes the
 * one with the largest expected return on the demonstration threads, queries included.
 */

/**
 * @param options.problemOf what an agent learns from that queries on a schedule
 * @returns null where the agent does not observe its detector
 */
export async function chooseSchedule(
  { state, agent }: Experiment,
  options: { problemOf: (schedule: PrefixSchedule) => Promise<StopProblem>; seed: number; context: WorkContext },
): Promise<PrefixSchedule | null> {
  if (!state.observesDetector) return null;
  const { problemOf, seed, context } = options;
  const candidates = schedulesOf(state.querySchedule);
  if (candidates.length === 1) return candidates[0];
  const config = {
    ...agent,
    algorithm: 'exact-policy-gradient' as const,
    initialization: 'random' as const,
  };
  let best = { schedule: candidates[0], expectedReturn: Number.NEGATIVE_INFINITY };
  for (const [index, schedule] of candidates.entries()) {
    const trainer = await createStopAgent({ seed, config, problem: await problemOf(schedule) });
    let expectedReturn = Number.NEGATIVE_INFINITY;
    while (trainer.iteration < trainer.iterations) {
      const metrics = await trainer.iterate(context);
      expectedReturn = metrics['task/expected_return'];
    }
    trainer.dispose();
    context.onProgress('choosing when to query', index + 1, candidates.length);
    if (expectedReturn > best.expectedReturn) best = { schedule, expectedReturn };
  }
  return best.schedule;
}
