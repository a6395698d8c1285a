import { z } from 'zod';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { valuesOf } from '../run/metric.ts';
import { runFile } from '../run/run-file.ts';
import { thresholds } from './calibrate.ts';
import { agentName, decide, stopByScores, type TestThread } from './decisions.ts';
import { guaranteesFile } from './guarantee-file.ts';
import { stopColumns } from './metrics.ts';
import { halfway } from './policy-settings.ts';
import { type Aim, worth } from './recommendation.ts';

/*
 * Where on its score a settled agent stops. One training serves every threshold: the one that is worth most on the development part is
 * its operating point; with a calibration part, or once `calibrate` has found one, the threshold of the guarantee is.
 */

const thresholdFile = runFile('threshold.json', z.strictObject({ threshold: z.number() }));

/** The threshold of a run's agent, without a guarantee: the chosen one, or one half. */
export function thresholdOf(run: Pick<RunDirectory, 'path'>): number {
  return thresholdFile.find(run)?.threshold ?? halfway;
}

/** The threshold of the guarantee that a training found: what is tested is what is deployed. */
export function keepThreshold(run: Pick<RunDirectory, 'path'>, { threshold }: { threshold: number }): void {
  thresholdFile.write(run, { threshold });
}

/** The guarantee of a run's agent, if the agent was tested by it; null otherwise. */
export function testedGuarantee(run: Pick<RunDirectory, 'path'>): Guarantee | null {
  const guarantee = guaranteesFile.find(run)?.[agentName] ?? null;
  return guarantee?.threshold === thresholdOf(run) ? guarantee : null;
}

/**
 * Chooses and keeps the threshold that is worth most on these threads; of equal ones the most careful.
 * @param scored each thread with the scores at all its posts
 */
export function chooseThreshold(
  run: Pick<RunDirectory, 'path'>,
  scored: readonly { readonly tested: TestThread; readonly scores: Float32Array }[],
  { policy, aim }: { policy: PolicyDefinition; aim: Aim },
): void {
  const { metrics, of } = worth(aim);
  const threads = scored.map(({ tested }) => tested);
  let best = { threshold: halfway, worth: Number.NEGATIVE_INFINITY };
  for (const threshold of thresholds) {
    const stops = scored.map(({ tested, scores }) => stopByScores(tested, [...scores], { ...policy, threshold }));
    const { decisions } = decide(agentName, threads, stops, policy.queries);
    const own = of(valuesOf(metrics, stopColumns(decisions, aim)));
    if (own > best.worth) best = { threshold, worth: own };
  }
  thresholdFile.write(run, { threshold: best.threshold });
}
