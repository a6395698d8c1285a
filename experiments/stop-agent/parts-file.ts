import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../checkpoints/json-file.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { type Experiment, experimentSchema } from './experiment.ts';
import { loadData, type Parts, splitParts, threadsHash } from './parts.ts';

/*
 * `parts.json`: which threads a run used for what. The split is a function of the data, but the data may be gone or
 * grown when somebody asks which threads an agent has seen.
 */

const fileName = 'parts.json';

const itemSchema = z.strictObject({
  id: z.string(),
  identity: z.string().describe('hash of the id and the claim: the same thread, whatever replies came later'),
  sha256: z.string().describe('hash of the whole thread as it was read'),
});
type Item = z.infer<typeof itemSchema>;

const partsSchema = z.strictObject({
  formatVersion: z.literal(1),
  parts: z.strictObject({
    detector: z.array(itemSchema),
    demonstrations: z.array(itemSchema),
    environment: z.array(itemSchema),
    test: z.array(itemSchema),
  }),
});
type PartItems = z.infer<typeof partsSchema>['parts'];

export function writeParts(run: RunDirectory, parts: Parts): void {
  writeJsonFile(join(run.path, fileName), { formatVersion: 1, parts: itemsOf(parts) });
}

/** Names a thread by its id and claim, so that it is known again when further replies have come or labels are gone. */
export function threadIdentity({ id, posts: [claim] }: Thread): string {
  return sha256({ id, claim: claim.text });
}

/**
 * Identities of the threads that a run learnt from: those of its detector, its demonstrations and its environment.
 * @throws InputError for a run without `parts.json`, from an earlier version, whose data is no longer there
 */
export async function trainedThreads(run: RunDirectory): Promise<ReadonlySet<string>> {
  const { detector, demonstrations, environment } = await readParts(run);
  return new Set([...detector, ...demonstrations, ...environment].map(({ identity }) => identity));
}

/** Leaves out the threads that a run learnt from, and says how many. Scores on them would flatter it. */
export function withoutTrained(
  threads: readonly Thread[],
  options: { trained: ReadonlySet<string>; includeTrained: boolean; name: string; onNote: WorkContext['onNote'] },
): Thread[] {
  const { trained, includeTrained, name, onNote } = options;
  const others = threads.filter((thread) => !trained.has(threadIdentity(thread)));
  const known = threads.length - others.length;
  if (known === 0) return others;
  const whatHappens = includeTrained ? 'they are not left out' : 'they are left out';
  onNote(`the run was trained on ${known} of the ${threads.length} threads of ${name}; ${whatHappens}`);
  if (includeTrained) return [...threads];
  if (others.length === 0)
    throw new InputError(
      `the run was trained on all ${threads.length} threads of ${name}; give other data, or keep them with --include-trained`,
    );
  return others;
}

/**
 * The test threads of a run, looked up by their hashes.
 * @param options.data where the data is now; null for the place that the run's configuration names
 * @throws InputError that names the threads which are missing or were changed
 */
export async function testThreadsOfRun(
  run: RunDirectory,
  { data, context }: { data: string | null; context: WorkContext },
): Promise<Thread[]> {
  const saved = run.readConfig(experimentSchema);
  const experiment = data === null ? saved : { ...saved, data: { ...saved.data, threads: data } };
  const { test } = await readParts(run);
  const place = experiment.data.threads ?? 'the synthetic stream';
  const byHash = new Map((await loadData(experiment, context.onNote)).map((thread) => [sha256(thread), thread]));
  const missing = test.filter((item) => !byHash.has(item.sha256));
  if (missing.length > 0)
    throw new InputError(
      `${place} lacks ${missing.length} of the ${test.length} threads that ${run.path} was tested on, or they were changed: ${missing
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}${missing.length > 5 ? ', …' : ''}. Restore the file, or say where it is with --data`,
    );
  return test.flatMap((item) => byHash.get(item.sha256) ?? []);
}

async function readParts(run: RunDirectory): Promise<PartItems> {
  const path = join(run.path, fileName);
  return existsSync(path) ? readJsonFile(path, partsSchema).parts : recomputedParts(run);
}

/** The parts of a run that an earlier version trained: the split, made again from the same data. */
async function recomputedParts(run: RunDirectory): Promise<PartItems> {
  const experiment: Experiment = run.readConfig(experimentSchema);
  const { seed, hashes } = run.readRecord();
  const place = experiment.data.threads ?? 'the synthetic stream';
  const advice = `${run.path} has no ${fileName} (an earlier version made it), so its threads are found by splitting its data again`;
  let threads: Thread[];
  try {
    threads = await loadData(experiment, () => {});
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(`${advice}, and that cannot be read: ${error.message}. Restore the file`, { cause: error });
  }
  if (threadsHash(threads) !== hashes.data)
    throw new InputError(`${advice}, and ${place} is no longer what it was; restore the file`);
  return itemsOf(splitParts(threads, experiment, seed));
}

function itemsOf({ detector, demonstrations, environment, test }: Parts): PartItems {
  const items = (threads: readonly Thread[]): Item[] =>
    threads.map((thread) => ({ id: thread.id, identity: threadIdentity(thread), sha256: sha256(thread) }));
  return {
    detector: items(detector),
    demonstrations: items(demonstrations),
    environment: items(environment),
    test: items(test),
  };
}
