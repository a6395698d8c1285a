import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import { type DecisionLine, fileNameOf, hasDecisions } from './decisions-file.ts';
import { kindOfRun } from './kind-of-run.ts';
import { runsBelow } from './runs-below.ts';
import { intervalsOf, pairedBySeed, type Scoring } from './scoring.ts';

export interface ComparedSystem {
  /** A run, or a folder of runs with one seed each, which are paired by seed. */
  readonly folder: string;
  readonly system: string;
}

export type ComparedPair = readonly [ComparedSystem, ComparedSystem];

/** The runs in a folder that have decisions: itself, or those of its seeds. */
function decidedRuns(folder: string): string[] {
  const decided = runsBelow(folder, 1).filter((run) => hasDecisions(run));
  if (decided.length === 0)
    throw new InputError(`${folder} holds no ${fileNameOf('test')}, nor do folders seed-… in it; give a finished run`);
  return decided;
}

export function firstRunIn(folder: string): RunDirectory {
  return RunDirectory.open(decidedRuns(folder)[0]);
}

/** How two systems of one kind of experiment are compared. */
export interface Comparing<Of extends DecisionLine, Columns extends object> {
  /** The task. */
  readonly items: 'thread' | 'item';
  /** Two folders are compared where theirs are the same; any two unless given. */
  labelsOf?(run: RunDirectory): readonly string[];
  /** Every decision of a run that is compared. */
  read(run: RunDirectory): readonly Of[];
  titleOf(place: DecisionLine['place']): string;
  scoringOf(place: DecisionLine['place']): Scoring<Of, Columns>;
}

/**
 * Two systems on the items that both decided under the same seed, at every place where they did.
 * @param options.seed of the bootstrap
 * @throws InputError when they share no item or decide other labels, or a folder holds no decisions of the system
 */
export function compareSystems<Of extends DecisionLine, Columns extends object>(
  compared: ComparedPair,
  { seed, ...comparing }: Comparing<Of, Columns> & { seed: number },
): ComparedPlace[] {
  refuseOthers(compared, comparing);
  const [first, second] = compared;
  const isAlone = compared.every(({ folder }) => decidedRuns(folder)[0] === folder);
  const [ours, theirs] = compared.map((system) => decisionsOf(system, { ...comparing, isAlone }));
  const places = new Map([...ours.values()].flat().map(({ place }) => [comparing.titleOf(place), place]));
  const comparedPlaces = Array.from(places, ([title, place]): ComparedPlace[] => {
    const at = (all: typeof ours) =>
      new Map(
        Array.from(all, ([seed, decisions]) => [
          seed,
          decisions.filter((each) => comparing.titleOf(each.place) === title),
        ]),
      );
    const seeds = pairedBySeed(at(ours), at(theirs));
    if (seeds.length === 0) return [];
    const pairs = seeds.flatMap((seed) => seed.first.map((left, index) => ({ left, right: seed.second[index] })));
    return [
      {
        title,
        of: place,
        items: pairs.length,
        seeds: seeds.length,
        metrics: intervalsOf(comparing.scoringOf(place), seeds, { seed }),
        differing: pairs
          .filter(({ left, right }) => left.prediction !== right.prediction)
          .map(({ left, right }) => [left.item, left.gold, shown(left), shown(right)]),
      },
    ];
  }).flat();
  const counts = [ours, theirs].map((all) => [...all.values()].flat().length);
  if (comparedPlaces.length === 0)
    throw new InputError(
      `${first.folder} and ${second.folder} share no tested ${comparing.items} under the same seed (${counts.join(' and ')} decisions); compare runs with the same split, tests and seeds`,
    );
  return comparedPlaces;
}

/** The decisions of a system, in words. */
function shown({ prediction, numbers: { postsUsed, posts } }: DecisionLine): string {
  const answer = prediction ?? 'no answer';
  return postsUsed === undefined ? answer : `${answer}, post ${postsUsed} of ${posts}`;
}

/** @throws InputError for runs of two kinds or of two tasks */
function refuseOthers(
  [first, second]: ComparedPair,
  { labelsOf }: { labelsOf?(run: RunDirectory): readonly string[] },
): void {
  const [kind, otherKind] = [first, second].map(({ folder }) => kindOfRun(firstRunIn(folder)));
  if (kind !== otherKind)
    throw new InputError(
      `${first.folder} holds runs of kind ${kind} and ${second.folder} of kind ${otherKind}; compare runs of one kind`,
    );
  const [labels, other] = [first, second].map(({ folder }) => labelsOf?.(firstRunIn(folder)).join(', '));
  if (labels !== other)
    throw new InputError(
      `${first.folder} decides ${labels} and ${second.folder} decides ${other}; compare runs of one task`,
    );
}

/** By seed, so that a run finds its partner among others; two runs that are compared alone may be of any seeds. */
function decisionsOf<Of extends DecisionLine>(
  { folder, system }: ComparedSystem,
  { read, isAlone }: { read(run: RunDirectory): readonly Of[]; isAlone: boolean },
): Map<number | null, Of[]> {
  const all = decidedRuns(folder)
    .map((path) => RunDirectory.open(path))
    .map((run) => [isAlone ? null : run.readRecord().seed, read(run)] as const);
  const decisionsOfSystem = all.map(
    ([seed, decisions]) => [seed, decisions.filter((each) => each.system === system)] as const,
  );
  if (decisionsOfSystem.every(([, decisions]) => decisions.length === 0)) {
    const systems = new Set(all.flatMap(([, decisions]) => decisions.map((each) => each.system)));
    throw new InputError(
      systems.size === 0
        ? `the runs of ${folder} tested nothing; compare runs of an experiment that names tests`
        : `${folder} has no system ${JSON.stringify(system)}; it has ${[...systems].join(', ')}`,
    );
  }
  return new Map(decisionsOfSystem);
}
