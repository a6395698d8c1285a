/*
 * What agents came to over the seeds of finished runs, each folder a variant, or a sweep, whose settings are variants. Usage:
 *
 *   node --import tsx benchmarks/over-seeds.ts runs/objective/copy-0.7 runs/objective/copy-0.3 [--systems 'stop agent,first post']
 *
 * A row for each folder and system, on the part that the runs were evaluated on. Brackets are 95% by Student's t, seeds being the
 * sample. Columns:
 *
 *   at first post   share of the threads that are decided there
 *   over first post relative gain in macro-F1 over the rule “first post”, in percent, as in EARD's Table 4
 *   F1, ER − first  less those of the same system in the first folder, paired by seed
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { sweepIn } from '../experiments/runner/experiment-folder.ts';
import { readTrialResult, type TrialResult } from '../experiments/stop-agent/result.ts';
import { seedInterval, shownInterval } from '../experiments/sweep/seed-interval.ts';

const { values: args, positionals: folders } = parseArgs({
  options: { systems: { type: 'string', default: 'stop agent' } },
  allowPositionals: true,
});
if (folders.length === 0) throw new Error('give folders of finished runs, such as runs/objective/copy-0.7');

interface SeedOfSystem {
  readonly seed: number;
  readonly macroF1: number;
  readonly er: number;
  readonly atFirstPost: number;
  readonly overFirstPost: number;
}

const first = new Map<string, readonly SeedOfSystem[]>();
const variants = await Promise.all(folders.map(variantsOf));
const rows = variants.flat().flatMap(({ variant, directories }) => {
  const results = directories
    .filter((path) => existsSync(join(path, 'result.json')))
    .map((path) => readTrialResult(RunDirectory.open(path), { withIntervals: false }));
  return args.systems.split(',').map((name) => {
    const ofSystem = results.map((result) => seedOf(result, name));
    const reference = first.get(name) ?? ofSystem;
    first.set(name, reference);
    const column = (of: (one: SeedOfSystem) => number, decimals = 3) => shown(ofSystem.map(of), decimals);
    const less = (of: (one: SeedOfSystem) => number) =>
      shown(
        ofSystem.flatMap((one) =>
          reference.filter(({ seed }) => seed === one.seed).map((other) => of(one) - of(other)),
        ),
      );
    return [
      `${variant}: ${name}`,
      String(ofSystem.length),
      column(({ macroF1 }) => macroF1),
      column(({ er }) => er),
      shown(
        ofSystem.map(({ atFirstPost }) => atFirstPost),
        2,
        [0, 1],
      ),
      column(({ overFirstPost }) => overFirstPost, 1),
      ...(reference === ofSystem ? ['', ''] : [less(({ macroF1 }) => macroF1), less(({ er }) => er)]),
    ];
  });
});
const head = ['system', 'seeds', 'macro-F1', 'ER', 'at first post', 'over first post, %'];
console.log(
  markdownTable([[...head, 'F1 − first', 'ER − first'], ...rows], { align: ['l', ...Array<'r'>(7).fill('r')] }),
);

async function variantsOf(folder: string): Promise<{ variant: string; directories: readonly string[] }[]> {
  const sweep = await sweepIn(folder, { runs: dirname(folder) });
  if (sweep === null) {
    const directories = readdirSync(folder).map((name) => join(folder, name));
    return [{ variant: basename(folder), directories }];
  }
  return sweep.members.map(({ label, trials }) => ({
    variant: label,
    directories: trials.map(({ directory }) => directory),
  }));
}

function shown(values: readonly number[], decimals = 3, range?: readonly [number, number]): string {
  return values.length === 0 ? '–' : shownInterval(seedInterval(values, range), decimals);
}

function seedOf({ seed, systems, decisions }: TrialResult, name: string): SeedOfSystem {
  const place = systems.findIndex((system) => system.name === name);
  const firstPost = systems.find((system) => system.name === 'first post')?.values.macroF1 ?? Number.NaN;
  const over = (macroF1: number) => 100 * (macroF1 / firstPost - 1);
  if (place < 0)
    throw new Error(`no run has the system ${name}; there are ${systems.map((system) => system.name).join(', ')}`);
  const { macroF1, er } = systems[place].values;
  const stops = decisions[place].decisions;
  return {
    seed,
    macroF1: macroF1 ?? Number.NaN,
    er: er ?? Number.NaN,
    atFirstPost: stops.filter(({ postsUsed }) => postsUsed === 1).length / stops.length,
    overFirstPost: over(macroF1 ?? Number.NaN),
  };
}
