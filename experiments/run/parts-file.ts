import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import { type Thread, threadIdentity } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { runFile } from './run-file.ts';

/*
 * `parts.json`: which threads a run used for what. A split is a function of the data, but the data may be gone or grown
 * when somebody asks which threads an agent has seen.
 */

const itemSchema = z.strictObject({
  id: z.string(),
  identity: z.string().describe('hash of the id and the claim: the same thread, whatever replies came later'),
  sha256: z.string().describe('hash of the whole thread as it was read'),
});
export type PartItem = z.infer<typeof itemSchema>;

const partsFile = runFile(
  'parts.json',
  z.strictObject({ formatVersion: z.literal(1), parts: z.record(z.string(), z.array(itemSchema)) }),
);

/** The threads of each part, by its name. */
export function writeParts(run: RunDirectory, parts: Readonly<Record<string, readonly Thread[]>>): void {
  const items = Object.entries(parts).map(([name, threads]) => [name, threads.map(partItem)] as const);
  partsFile.write(run, { formatVersion: 1, parts: Object.fromEntries(items) });
}

/**
 * The threads of each part.
 * @throws InputError where the file cannot be read
 */
export function readParts(run: RunDirectory): Readonly<Record<string, readonly PartItem[]>> {
  return partsFile.read(run).parts;
}

function partItem(thread: Thread): PartItem {
  return { id: thread.id, identity: threadIdentity(thread), sha256: sha256(thread) };
}

/** The threads of these items, in their order, and the items whose threads are not there or were changed since. */
export function threadsOfItems(
  items: readonly PartItem[],
  threads: readonly Thread[],
): { present: Thread[]; missing: PartItem[] } {
  const byHash = new Map(threads.map((thread) => [sha256(thread), thread]));
  return {
    present: items.flatMap((item) => byHash.get(item.sha256) ?? []),
    missing: items.filter((item) => !byHash.has(item.sha256)),
  };
}

/**
 * Leaves out the threads that a run learnt from, and says how many. Scores on them would flatter it.
 * @param options.trained identities of those threads
 * @throws InputError when nothing is left
 */
export function withoutTrained(
  threads: readonly Thread[],
  options: { trained: ReadonlySet<string>; includeTrained: boolean; name: string; onNote: WorkContext['onNote'] },
): Thread[] {
  const { trained, includeTrained, name, onNote } = options;
  const others = threads.filter((thread) => !trained.has(threadIdentity(thread)));
  const trainedCount = threads.length - others.length;
  if (trainedCount === 0) return others;
  const whatHappens = includeTrained ? 'they are not left out' : 'they are left out';
  onNote(`the run was trained on ${trainedCount} of the ${threads.length} threads of ${name}; ${whatHappens}`);
  if (includeTrained) return [...threads];
  if (others.length === 0)
    throw new InputError(
      `the run was trained on all ${threads.length} threads of ${name}; give other data, or keep them with --include-trained`,
    );
  return others;
}
