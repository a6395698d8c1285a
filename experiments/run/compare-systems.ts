import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import type { MetricInterval, SeedDecisions } from '../../src/metrics/metric-intervals.ts';
import { missingPath } from '../../src/missing-path.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type Decision, fileNameOf, hasDecisions } from './decisions-file.ts';

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

/** How two systems of one kind of experiment are compared. */
export interface Comparing<Of extends Decision> {
  /** What is decided. */
  readonly items: 'thread' | 'item';
  /** Two folders are compared where theirs are the same; any two unless given. */
  labelsOf?(run: RunDirectory): readonly string[];
  /** Every decision of a run that is compared. */
  read(run: RunDirectory): readonly Of[];
  titleOf(place: Decision['place']): string;
  /** First minus second, mean over seeds. */
  intervals(seeds: readonly SeedDecisions<Of>[], place: Decision['place']): MetricInterval[];
}

/**
 * Two systems on the items that both decided under the same seed, at every place where they did.
 * @throws InputError when they share no item or decide other labels, or a folder holds no decisions of the system
 */
export function compareSystems<Of extends Decision>(compared: ComparedPair, comparing: Comparing<Of>): ComparedPlace[] {
  refuseOtherLabels(compared, comparing);
  const [first, second] = compared;
  const [ours, theirs] = compared.map((system) => decisionsOf(system, comparing));
  const pairs = Array.from(ours).flatMap(([key, { run, decision: left }]) => {
    const right = theirs.get(key)?.decision;
    return right === undefined ? [] : [{ left, right, run }];
  });
  if (pairs.length === 0)
    throw new InputError(
      `${first.folder} and ${second.folder} share no tested ${comparing.items} under the same seed (${ours.size} and ${theirs.size} decisions); compare runs with the same split, tests and seeds`,
    );
  return Array.from(
    groupBy(pairs, ({ left }) => comparing.titleOf(left.place)),
    ([title, own]) => {
      const seeds = Array.from(groupBy(own, ({ run }) => run).values(), (ofSeed) => ({
        first: ofSeed.map(({ left }) => left),
        second: ofSeed.map(({ right }) => right),
      }));
      const [
        {
          left: { place },
        },
      ] = own;
      return {
        title,
        of: place,
        items: own.length,
        seeds: seeds.length,
        metrics: comparing.intervals(seeds, place),
        differing: own
          .filter(({ left, right }) => left.prediction !== right.prediction)
          .map(({ left, right }) => [left.item, left.gold, shown(left), shown(right)]),
      };
    },
  );
}

/** What a system decided, in words. */
function shown({ prediction, numbers: { postsUsed, posts } }: Decision): string {
  const answer = prediction ?? 'no answer';
  return postsUsed === undefined ? answer : `${answer}, post ${postsUsed} of ${posts}`;
}

function refuseOtherLabels([first, second]: ComparedPair, { labelsOf }: Pick<Comparing<Decision>, 'labelsOf'>): void {
  const [own, other] = [first, second].map(({ folder }) => labelsOf?.(firstRunIn(folder)).join(', '));
  if (own !== other)
    throw new InputError(
      `${first.folder} decides ${own} and ${second.folder} decides ${other}; compare runs of one task`,
    );
}

/** By run and item. */
function decisionsOf<Of extends Decision>({ folder, system }: ComparedSystem, { read }: Comparing<Of>) {
  const all = runsIn(folder).flatMap((run) =>
    read(RunDirectory.open(join(folder, run))).map((decision) => ({ run, decision })),
  );
  const own = all.filter(({ decision }) => decision.system === system);
  if (own.length === 0) {
    const systems = new Set(all.map(({ decision }) => decision.system));
    throw new InputError(`${folder} has no system ${JSON.stringify(system)}; it has ${[...systems].join(', ')}`);
  }
  return new Map(own.map((of) => [JSON.stringify([of.run, of.decision.place, of.decision.item]), of]));
}
