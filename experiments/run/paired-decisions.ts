import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import { type Decided, fileNameOf, hasDecisions } from './decisions-file.ts';

export interface ComparedSystem {
  /** A run, or a folder of runs with one seed each, which are paired by seed. */
  readonly folder: string;
  readonly system: string;
}

/** The runs in a folder, as paths in it: '' if the folder is itself a run, else its `seed-…` folders. */
export function runsIn(folder: string): string[] {
  if (!existsSync(folder))
    throw new InputError(`there is no folder ${folder}; give a run directory or a folder of runs`);
  const runs = hasDecisions(folder) ? [''] : readdirSync(folder).filter((name) => name.startsWith('seed-'));
  const decided = runs.filter((run) => hasDecisions(join(folder, run)));
  if (decided.length === 0)
    throw new InputError(`${folder} holds no ${fileNameOf('test')}, nor do folders seed-… in it; give a finished run`);
  return decided;
}

/** A folder, and a system where that is not the one that the folder is about. */
export type ComparedFolder = Pick<ComparedSystem, 'folder'> & Partial<ComparedSystem>;

/** What two systems decided of an item under the same seed. */
export interface Paired<Decision> {
  readonly left: Decision;
  readonly right: Decision;
  /** Folder of the run in that of the experiment; '' where a run was given. */
  readonly run: string;
}

/**
 * The decisions of two systems on the items that both decided under the same seed.
 * @param options.system where a folder names none
 * @param options.read every decision of a run
 * @throws InputError when they share no item, or a folder holds no decisions of the system
 */
export function pairDecisions<Decision extends Decided>(
  folders: readonly [ComparedFolder, ComparedFolder],
  options: {
    system: string;
    read: (run: string) => readonly Decision[];
    keyOf: (decision: Decision) => string;
    items: string;
  },
): Paired<Decision>[] {
  const [left, right] = folders.map((folder) => decisionsOf({ system: options.system, ...folder }, options));
  const shared = [...left.keys()].filter((key) => right.has(key));
  if (shared.length === 0)
    throw new InputError(
      `${folders[0].folder} and ${folders[1].folder} share no tested ${options.items} under the same seed (${left.size} and ${right.size} decisions); compare runs with the same split and seeds`,
    );
  return shared.map((key) => ({ left: left.get(key)!, right: right.get(key)!, run: key.slice(0, key.indexOf('/')) }));
}

/** @throws InputError where two folders decide other labels, so that nothing of them can be paired */
export function refuseOtherLabels(
  [first, second]: readonly [ComparedFolder, ComparedFolder],
  labelsOf: (folder: string) => readonly string[],
): void {
  const [own, other] = [first, second].map(({ folder }) => labelsOf(folder).join(', '));
  if (own !== other)
    throw new InputError(
      `${first.folder} decides ${own} and ${second.folder} decides ${other}; compare runs of one task`,
    );
}

/** The paired decisions of each seed, those of the first system beside those of the second. */
export function bySeed<Decision>(pairs: readonly Paired<Decision>[]): { first: Decision[]; second: Decision[] }[] {
  return Array.from(groupBy(pairs, ({ run }) => run).values(), (own) => ({
    first: own.map(({ left }) => left),
    second: own.map(({ right }) => right),
  }));
}

function decisionsOf<Decision extends Decided>(
  { folder, system }: ComparedSystem,
  { read, keyOf }: { read: (run: string) => readonly Decision[]; keyOf: (decision: Decision) => string },
): Map<string, Decision> {
  const decisions = new Map<string, Decision>();
  const systems = new Set<string>();
  for (const run of runsIn(folder))
    for (const decision of read(join(folder, run))) {
      systems.add(decision.system);
      if (decision.system === system) decisions.set(`${run}/${keyOf(decision)}`, decision);
    }
  if (decisions.size === 0)
    throw new InputError(`${folder} has no system ${JSON.stringify(system)}; it has ${[...systems].join(', ')}`);
  return decisions;
}
