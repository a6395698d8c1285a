import { z } from 'zod';
import { type Guarantee, guaranteeSchema } from '../../checkpoints/policy/guarantee.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { runFile } from '../run/run-file.ts';
import { halfway } from './policy-settings.ts';
import { deployedRun } from './shipped-run.ts';

/*
 * Where on its score a settled agent stops. One training serves every threshold: the one that is worth most on the development part is
 * its operating point; with a calibration part, or once `calibrate` has found one, the threshold of the guarantee is.
 */

const thresholdFile = runFile('threshold.json', z.strictObject({ threshold: z.number() }));

/** The guarantee by which the agent of a run stops and was tested. */
export const guaranteeFile = runFile('guarantee.json', guaranteeSchema);

/** Why the training could not show the guarantee that was asked for. */
export const unshownGuaranteeFile = runFile(
  'unshown-guarantee.json',
  z.strictObject({ reason: z.string(), remedy: z.string() }),
);

/** The threshold of a run's agent, without a guarantee: the chosen one, or one half. */
export function thresholdOf(run: Pick<RunDirectory, 'path'>): number {
  return thresholdFile.find(run)?.threshold ?? halfway;
}

/** Keeps the threshold that a training chose: what is tested is what is deployed. */
export function keepThreshold(run: Pick<RunDirectory, 'path'>, { threshold }: { threshold: number }): void {
  thresholdFile.write(run, { threshold });
}

/** The guarantee of what a run deploys, if its agent was tested by one; null otherwise. */
export function testedGuarantee({ path }: Pick<RunDirectory, 'path'>): Guarantee | null {
  return guaranteeFile.find({ path: deployedRun(path) });
}
