import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { RunFacts } from '../../checkpoints/run-record.ts';
import { runConfig, type SelectorExperiment } from './experiment.ts';
import { readStoredSelectorResult } from './result.ts';

/**
 * Makes the directory of a run, or goes on with what is there.
 * @param options.hashes of the data and the embeddings that it is trained on
 * @returns null where the run is finished, and its result can be read
 * @throws InputError when the directory holds a run of another config, seed or data
 */
export function unfinishedRun(
  directory: string,
  options: { experiment: SelectorExperiment; seed: number; hashes: { data: string; embeddings: string } },
): RunDirectory | null {
  const { experiment, seed, hashes } = options;
  const facts: RunFacts = { seed, backend: 'none', device: 'processor', hashes };
  const run = RunDirectory.create(directory, { config: runConfig(experiment), facts });
  if (!run.isFinished()) return run;
  readStoredSelectorResult(run);
  return null;
}
