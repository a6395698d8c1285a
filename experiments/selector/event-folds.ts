import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { within } from '../../src/work-context.ts';
import { readDecisions, writeDecisions } from '../run/decisions-file.ts';
import { selectorDataHash } from './data.ts';
import { selectorDecisionSchema } from './decisions.ts';
import { runConfig, type SelectorExperiment } from './experiment.ts';
import type { EventFold } from './protocol.ts';
import { type StoredSelectorResult, selectorResult } from './result.ts';
import type { SelectorResources, SelectorShared, SelectorTrial } from './selector-resources.ts';
import { runSelectorTrial } from './trial.ts';

/*
 * Leave one event out: a run that holds a run for each held-out event. Each item is tested once, by a selector that was trained on
 * no thread of its event, and the decisions of all folds together are those of the run.
 */

/**
 * Runs the folds one after the other and resumes unfinished ones. False after the signal.
 * @throws InputError if the directory holds a run of another config, seed or data
 */
export async function runEventFolds(
  options: Pick<SelectorTrial, 'experiment' | 'seed' | 'directory' | 'context'> & { resources: SelectorResources },
): Promise<boolean> {
  const { experiment, seed, directory, resources, context } = options;
  const folds: { fold: EventFold; experiment: SelectorExperiment; shared: SelectorShared; path: string }[] = [];
  for (const fold of await resources.foldsFor(experiment, context)) {
    const experimentOfFold = { ...experiment, data: { ...experiment.data, heldOutEvents: [...fold.events] } };
    const shared = await resources.sharedFor(experimentOfFold, context);
    folds.push({ fold, experiment: experimentOfFold, shared, path: join(directory, folderOf(fold)) });
  }
  const hashes = {
    data: sha256(folds.map(({ shared }) => selectorDataHash(shared.data))),
    embeddings: folds[0].shared.embeddings.identityHash,
  };
  const run = selectorResult.unfinished(directory, { config: runConfig(experiment), facts: { seed, hashes } });
  if (run === null) return true;
  for (const { fold, path, ...trial } of folds) {
    const isFinished = await runSelectorTrial({
      ...trial,
      seed,
      directory: path,
      context: within(context, `without ${fold.name}`),
    });
    if (!isFinished) return false;
  }
  writeDecisions(
    directory,
    folds.flatMap(({ path }) => readDecisions(path, selectorDecisionSchema)),
  );
  selectorResult.write(
    run,
    together(folds.map(({ fold, path }) => ({ fold, result: selectorResult.read(RunDirectory.open(path)) }))),
  );
  return true;
}

const folderOf = ({ name }: EventFold) => `without-${name}`;

function together(folds: readonly { fold: EventFold; result: StoredSelectorResult }[]): StoredSelectorResult {
  const results = folds.map(({ result }) => result);
  const meanOf = (numberOf: (result: StoredSelectorResult) => number | undefined) =>
    mean(results.flatMap((result) => numberOf(result) ?? []));
  const metrics = [...new Set(results.flatMap(({ lastEpoch }) => Object.keys(lastEpoch)))];
  return {
    seed: results[0].seed,
    claims: {
      labelled: meanOf(({ claims }) => claims.labelled),
      unlabelled: meanOf(({ claims }) => claims.unlabelled),
      posts: meanOf(({ claims }) => claims.posts),
      leftOut: {
        sameThread: meanOf(({ claims }) => claims.leftOut.sameThread),
        sameEvent: meanOf(({ claims }) => claims.leftOut.sameEvent),
        nearDuplicate: meanOf(({ claims }) => claims.leftOut.nearDuplicate),
      },
    },
    room: null,
    epochs: meanOf(({ epochs }) => epochs),
    isTerminated: results.every(({ isTerminated }) => isTerminated),
    lastEpoch: Object.fromEntries(metrics.map((name) => [name, meanOf(({ lastEpoch }) => lastEpoch[name])])),
    tests: [...new Set(results.flatMap(({ tests }) => tests))],
    systems: results[0].systems,
    folds: folds.map(({ fold }) => ({ name: fold.name, events: [...fold.events], run: folderOf(fold) })),
  };
}
