import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import type { MetricInterval, SeedDecisions } from '../../src/metrics/metric-intervals.ts';
import { missingPath } from '../../src/missing-path.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type Decided, fileNameOf, hasDecisions } from './decisions-file.ts';

export interface ComparedSystem {
  /** A run, or a folder of runs with one seed each, which are paired by seed. */
  readonly folder: string;
  readonly system: string;
}

export type ComparedPair = readonly [ComparedSystem, ComparedSystem];

/** The runs in a folder, as paths in it: '' if the folder is itself a run, else its `seed-…` folders. */
export function runsIn(folder: string): string[] {
  if (!existsSync(folder))
    throw new InputError(`${missingPath(folder)}. \`earshot runs\` lists the runs that are here`);
  const runs = hasDecisions(folder) ? [''] : readdirSync(folder).filter((name) => name.startsWith('seed-'));
  const decided = runs.filter((run) => hasDecisions(join(folder, run)));
  if (decided.length === 0)
    throw new InputError(`${folder} holds no ${fileNameOf('test')}, nor do folders seed-… in it; give a finished run`);
  return decided;
}

export function firstRunIn(folder: string): RunDirectory {
  return RunDirectory.open(join(folder, runsIn(folder)[0]));
}

/** How systems of one kind of experiment are held against each other. */
interface Comparing<Decision extends Decided> {
  /** What is decided. */
  readonly items: 'thread' | 'item';
  /** Two folders are compared where theirs are the same; any two unless given. */
  labelsOf?(run: RunDirectory): readonly string[];
  /** Every decision of a run. */
  read(run: RunDirectory): readonly Decision[];
  /** The same for whatever two systems decided of one item. */
  keyOf(decision: Decision): string;
  /** Decisions of one title are compared together, and `of` tells them apart in JSON; null leaves a decision out. */
  placeOf(decision: Decision): Pick<ComparedPlace, 'title' | 'of'> | null;
  /** First minus second, mean over seeds. */
  intervals(seeds: readonly SeedDecisions<Decision>[], place: Decision): MetricInterval[];
  /** In words, for the items on which they differ. */
  shown(decision: Decision): { readonly item: string; readonly gold: string; readonly answer: string };
}

/**
 * Two systems on the items that both decided under the same seed, at every place where they did.
 * @throws InputError when they share no item or decide other labels, or a folder holds no decisions of the system
 */
export function compareSystems<Decision extends Decided & { readonly predicted: unknown }>(
  compared: ComparedPair,
  comparing: Comparing<Decision>,
): ComparedPlace[] {
  refuseOtherLabels(compared, comparing);
  const [first, second] = compared;
  const [ours, theirs] = compared.map((system) => decisionsOf(system, comparing));
  const pairs = Array.from(ours, ([key, left]) => ({ left, right: theirs.get(key), run: key.split('/', 1)[0] }));
  const placed = pairs.flatMap(({ left, right, run }) => {
    const place = comparing.placeOf(left);
    return right === undefined || place === null ? [] : [{ left, right, run, ...place }];
  });
  if (placed.length === 0)
    throw new InputError(
      `${first.folder} and ${second.folder} share no tested ${comparing.items} under the same seed (${ours.size} and ${theirs.size} decisions); compare runs with the same split, tests and seeds`,
    );
  return Array.from(groupBy(placed, ({ title }) => title).values(), (own) => {
    const seeds = Array.from(groupBy(own, ({ run }) => run).values(), (ofSeed) => ({
      first: ofSeed.map(({ left }) => left),
      second: ofSeed.map(({ right }) => right),
    }));
    return {
      title: own[0].title,
      of: own[0].of,
      items: own.length,
      seeds: seeds.length,
      metrics: comparing.intervals(seeds, own[0].left),
      differing: own
        .filter(({ left, right }) => left.predicted !== right.predicted)
        .map(({ left, right }) => {
          const { item, gold, answer } = comparing.shown(left);
          return [item, gold, answer, comparing.shown(right).answer];
        }),
    };
  });
}

function refuseOtherLabels([first, second]: ComparedPair, { labelsOf }: Pick<Comparing<Decided>, 'labelsOf'>): void {
  const [own, other] = [first, second].map(({ folder }) => labelsOf?.(firstRunIn(folder)).join(', '));
  if (own !== other)
    throw new InputError(
      `${first.folder} decides ${own} and ${second.folder} decides ${other}; compare runs of one task`,
    );
}

function decisionsOf<Decision extends Decided>(
  { folder, system }: ComparedSystem,
  { read, keyOf }: Pick<Comparing<Decision>, 'read' | 'keyOf'>,
): Map<string, Decision> {
  const all = runsIn(folder).flatMap((run) =>
    read(RunDirectory.open(join(folder, run))).map((decision) => ({ run, decision })),
  );
  const own = all.filter(({ decision }) => decision.system === system);
  if (own.length === 0) {
    const systems = new Set(all.map(({ decision }) => decision.system));
    throw new InputError(`${folder} has no system ${JSON.stringify(system)}; it has ${[...systems].join(', ')}`);
  }
  return new Map(own.map(({ run, decision }) => [`${run}/${keyOf(decision)}`, decision]));
}
