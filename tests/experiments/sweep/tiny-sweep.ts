import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { planSweep, type SweepPlan } from '../../../experiments/sweep/plan.ts';
import { loadSweepFile } from '../../../experiments/sweep/sweep-file.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { tinySweep } from '../cli/tiny.ts';

/** Writes a sweep file; what is given replaces whole parts of the tiny one. */
export function writeSweep(path: string, parts: Record<string, unknown> = {}): void {
  writeFileSync(path, JSON.stringify({ ...tinySweep, ...parts }));
}

/** The plan of such a sweep. */
export async function planned(
  parts: Record<string, unknown> = {},
  overrides: Record<string, unknown>[] = [],
): Promise<SweepPlan> {
  const path = join(temporaryFolder(), 'sweep.yaml');
  writeSweep(path, parts);
  return planSweep(await loadSweepFile(path, { overrides }), { runs: 'runs' });
}

/** The rows of a sweep's table of trials. */
export function trialsIn(folder: string): Record<string, string>[] {
  return parse(readFileSync(join(folder, 'trials.csv')), { columns: true });
}
