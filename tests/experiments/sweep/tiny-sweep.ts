import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { planSweep, type SweepPlan } from '../../../experiments/sweep/plan.ts';
import { loadSweepFile } from '../../../experiments/sweep/sweep-file.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { tiny } from '../cli/command-line.ts';

const { name: _, seeds: __, ...experiment } = tiny;

/** A sweep over three settings and two seeds that runs in seconds; JSON is YAML. */
export const tinySweep = {
  kind: 'sweep',
  name: 'tiny-sweep',
  seeds: [1, 2],
  experiment: {
    ...experiment,
    split: { detector: 16, demonstrations: 12, environment: 10, test: 10, development: 10 },
    checkpointEvery: 1,
  },
  space: { 'agent.imitation.alpha': [0.6, 0.7, 0.8] },
};

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
