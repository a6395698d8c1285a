import { join } from 'node:path';
import type { ExperimentFile, ExperimentHead } from '../config/experiment-file.ts';

/** A variant with one seed. */
export interface Trial<Experiment> {
  readonly variant: string;
  readonly experiment: Experiment;
  readonly seed: number;
  readonly directory: string;
}

export function trialsOf<Experiment extends ExperimentHead>(
  file: ExperimentFile<Experiment>,
  runs: string,
): Trial<Experiment>[] {
  return file.variants.flatMap(({ name, experiment }) =>
    experiment.seeds.map((seed) => ({
      variant: name,
      experiment,
      seed,
      directory: join(runs, file.name, name, `seed-${seed}`),
    })),
  );
}
