import { join } from 'node:path';
import { type PrefixSchedule, prefixScheduleSchema } from '../../experts/prefix-schedule.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';
import { type Experiment, schedulesOf } from './experiment.ts';

/*
 * When an agent has its detector asked. `askSchedule: best` trains an exact-return agent for each candidate and takes the
 * one with the largest expected return on the demonstration threads, calls included. It is kept in the run's
 * `schedule.json`.
 */

const fileName = 'schedule.json';

/** A schedule, and the return that its agent expects on the threads it was trained on; null where nothing was chosen. */
export interface ChosenSchedule {
  readonly schedule: PrefixSchedule;
  readonly expectedReturn: number | null;
}

/**
 * @param options.problemOf what an agent learns from that asks on a schedule
 * @returns null where the agent is not told the judgements
 */
export async function chooseSchedule(
  { state, agent }: Experiment,
  options: { problemOf: (schedule: PrefixSchedule) => Promise<StopProblem>; seed: number; context: WorkContext },
): Promise<ChosenSchedule | null> {
  if (state.judgement === 'none') return null;
  const { problemOf, seed, context } = options;
  const candidates = schedulesOf(state.askSchedule);
  if (candidates.length === 1) return { schedule: candidates[0], expectedReturn: null };
  const config = {
    ...agent,
    algorithm: 'exact-return' as const,
    initialization: 'random' as const,
    normalizer: 'per-feature' as const,
  };
  let best: { schedule: PrefixSchedule; expectedReturn: number } | null = null;
  for (const [index, schedule] of candidates.entries()) {
    const trainer = await createStopAgent([{ seed, config, problem: await problemOf(schedule) }]);
    let expectedReturn = Number.NEGATIVE_INFINITY;
    while (trainer.iteration < trainer.iterations) {
      const [metrics] = await trainer.iterate(context);
      expectedReturn = metrics['task/expected_return'];
    }
    trainer.dispose();
    context.onProgress('choosing when to ask', index + 1, candidates.length);
    if (best === null || expectedReturn > best.expectedReturn) best = { schedule, expectedReturn };
  }
  return best;
}

export function saveSchedule(directory: string, schedule: PrefixSchedule): void {
  writeJsonFile(join(directory, fileName), schedule);
}

/**
 * The schedule that a run's agent asks on; null where it is not told the judgements.
 * @throws InputError when it was chosen and its file is missing or damaged
 */
export function scheduleOfRun(directory: string, { state }: Experiment): PrefixSchedule | null {
  if (state.judgement === 'none') return null;
  if (state.askSchedule.name !== 'best') return state.askSchedule;
  return readJsonFile(join(directory, fileName), prefixScheduleSchema.unwrap());
}
