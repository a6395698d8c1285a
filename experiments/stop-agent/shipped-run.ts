import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/*
 * A cross-fitted seed tests its folds. What is deployed learned from all labels and lies in a run of its own, in the run of the first
 * seed (cross-fitted-trial.ts).
 */

/** The folder of what learned from all labels, in the run of a seed. */
export const shippedFolder = 'shipped';

/** The run that is deployed for a run: what learned from all labels for a cross-fitted seed, and every other run itself. */
export function deployedRun(run: string): string {
  const inside = join(run, shippedFolder);
  if (existsSync(join(inside, 'config.json'))) return inside;
  const variant = dirname(run);
  if (!/^seed-\d+$/.test(basename(run)) || !existsSync(variant)) return run;
  const seeds = readdirSync(variant).filter((name) => /^seed-\d+$/.test(name));
  return (
    seeds.map((name) => join(variant, name, shippedFolder)).find((path) => existsSync(join(path, 'config.json'))) ?? run
  );
}

/** The run whose decisions say what a deployed run is worth. */
export function evaluatedRun(deployed: string): string {
  return basename(deployed) === shippedFolder ? dirname(deployed) : deployed;
}
