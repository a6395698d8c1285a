import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cruise, type IFlattenedRuleSet } from 'dependency-cruiser';
import { expect, it } from 'vitest';
import { temporaryFolder } from './src/data/fixtures.ts';

const home = join(import.meta.dirname, '..');
/** Upper floors first; those in one row do not know one another. */
const floors = [['experiments'], ['trainers'], ['experts', 'envs', 'checkpoints'], ['src']];
const folders = floors.flat();

/**
 * The rooms of a floor in the same order: what stands in a row imports rows below it and nothing beside it. A file that stands
 * on a floor by itself is a room, too; those that are not listed are at the bottom.
 */
const rooms: Readonly<Record<string, readonly (readonly string[])[]>> = {
  experiments: [
    ['cli'],
    ['runner'],
    ['sweep'],
    ['kinds'],
    ['labelling'],
    ['selector', 'serve'],
    ['stop-agent', 'detectors'],
    ['judging'],
    ['run'],
    ['report', 'config', 'init', 'backends'],
  ],
  trainers: [['stop-agent', 'selector']],
  experts: [
    ['selectors'],
    ['task-models'],
    ['detectors'],
    ['judge-threads'],
    ['retrieval', 'annotate'],
    ['asking', 'scheduled-prefixes'],
    ['annotations', 'trajectories'],
    ['llm', 'judgement-sequence'],
    ['tasks', 'detector', 'prefix-schedule'],
  ],
  checkpoints: [['policy']],
  src: [['data'], ['metrics', 'text'], ['tensor', 'regression']],
};

/** The one date a trainer, environment or expert may ask for: a server's `retry-after` that is a date is held against now. */
const knownClock = 'experts/llm/retry-after.ts';

function forbidden(): NonNullable<IFlattenedRuleSet['forbidden']> {
  const directions = folders.map((folder) => {
    const floor = floors.findIndex((row) => row.includes(folder));
    const reachable = [folder, ...floors.slice(floor + 1).flat()].map((name) => `${name}/`);
    return {
      name: `${folder} imports only itself and what lies below`,
      severity: 'error' as const,
      from: { path: `^${folder}/` },
      to: { pathNot: [`^(${reachable.join('|')})`, '^package\\.json$'], dependencyTypesNot: outside },
    };
  });
  const orders = Object.entries(rooms).flatMap(([floor, rows]) =>
    rows.flatMap((row, index) =>
      row.map((room) => {
        const closed = rows.slice(0, index + 1).flat();
        const others = closed.filter((name) => name !== room);
        return {
          name: `${floor}/${room} imports only itself and the rooms below it`,
          severity: 'error' as const,
          from: { path: `^${floor}/${room}(/|\\.ts$)` },
          to: { path: `^${floor}/(${others.join('|') || '-'})(/|\\.ts$)` },
        };
      }),
    ),
  );
  const bottoms = Object.entries(rooms).map(([floor, rows]) => ({
    name: `what stands beside the rooms of ${floor} imports none of them`,
    severity: 'error' as const,
    from: { path: `^${floor}/[^/]+\\.ts$`, pathNot: `^${floor}/(${rows.flat().join('|')})\\.ts$` },
    to: { path: `^${floor}/(${rows.flat().join('|')})(/|\\.ts$)` },
  }));
  return [
    ...directions,
    ...orders,
    ...bottoms,
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'envs know neither tensors nor files',
      severity: 'error',
      from: { path: '^envs/' },
      to: { path: ['@tensorflow/', '^(node:)?fs(/promises)?$'] },
    },
    { name: 'every import exists', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ];
}
const outside = (['core', 'npm', 'npm-dev', 'npm-optional', 'npm-no-pkg', 'unknown'] as const).slice();

/** What is wrong with the imports below a folder, as `rule: from → to`. */
async function wrongImports(baseDir: string): Promise<string[]> {
  const present = readdirSync(baseDir).filter((name) => folders.includes(name));
  const { output } = await cruise(
    present,
    {
      baseDir,
      tsPreCompilationDeps: true,
      doNotFollow: { path: 'node_modules' },
      validate: true,
      ruleSet: { forbidden: forbidden() },
    },
    { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  );
  if (typeof output === 'string') throw new Error(output);
  return output.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`).sort();
}

function sourceFiles(baseDir: string, of: readonly string[]): string[] {
  return of.flatMap((folder) =>
    readdirSync(join(baseDir, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );
}

function unnamed(baseDir: string, of: readonly string[]): string[] {
  return sourceFiles(baseDir, of).filter((path) => /^utils?\.ts$/.test(basename(path)));
}

/** Files that ask for chance or time outside their one owner. */
function unownedRandomness(baseDir: string, of: readonly string[]): string[] {
  return sourceFiles(baseDir, of).filter((path) =>
    /\bMath\.random\b|\bDate\.now\b|\bnew Date\(\)/.test(readFileSync(join(baseDir, path), 'utf8')),
  );
}

it('runs down through the house only', async () => {
  expect(await wrongImports(home)).toEqual([]);
});

it('has a place in the order for every room', () => {
  for (const [floor, rows] of Object.entries(rooms)) {
    const present = sourceFiles(home, [floor]).map((path) => path.split('/').slice(1));
    const folders = new Set(present.filter((path) => path.length > 1).map(([room]) => room));
    expect(rows.flat()).toEqual(expect.arrayContaining([...folders]));
  }
});

it('has no file for what found no name', () => {
  expect(unnamed(home, folders)).toEqual([]);
});

it('has one owner of randomness and time', () => {
  expect(unownedRandomness(home, ['trainers', 'envs', 'experts'])).toEqual([knownClock]);
});

it('would find each kind of wrong import', async () => {
  const folder = temporaryFolder({
    'src/up.ts': "import type { Trainer } from '../trainers/trainer.ts';\nexport type Up = Trainer;\n",
    'src/round.ts': "import { trip } from './trip.ts';\nexport const round = () => trip;\n",
    'src/trip.ts': "import { round } from './round.ts';\nexport const trip = () => round;\n",
    'src/fine.ts': "import { readFileSync } from 'node:fs';\nexport const fine = readFileSync;\n",
    'envs/env.ts': "import { readFile } from 'node:fs/promises';\nexport const env = readFile;\n",
    'envs/missing.ts': "export { nothing } from './nowhere.ts';\n",
    'experts/expert.ts': "import { env } from '../envs/env.ts';\nexport const expert = [env, Math.random()];\n",
    'trainers/trainer.ts': "import { fine } from '../src/fine.ts';\nexport type Trainer = typeof fine;\n",
    'trainers/deep/utils.ts': 'export const help = 1;\n',
    'experiments/report/table.ts': "import { runner } from '../run/runner.ts';\nexport const table = () => runner;\n",
    'experiments/run/runner.ts':
      "import type { Agent } from '../stop-agent/agent.ts';\nexport const runner: Agent = 1;\n",
    'experiments/stop-agent/agent.ts': 'export type Agent = number;\n',
    'src/low.ts': "export { far } from './text/far.ts';\n",
    'src/text/far.ts': 'export const far = 1;\n',
    'experiments/run.ts': "export { expert } from '../experts/expert.ts';\nexport { fine } from '../src/fine.ts';\n",
  });
  expect(await wrongImports(folder)).toEqual([
    'envs know neither tensors nor files: envs/env.ts → fs/promises',
    'every import exists: envs/missing.ts → ./nowhere.ts',
    'experiments/report imports only itself and the rooms below it: experiments/report/table.ts → experiments/run/runner.ts',
    'experiments/run imports only itself and the rooms below it: experiments/run/runner.ts → experiments/stop-agent/agent.ts',
    'experts imports only itself and what lies below: experts/expert.ts → envs/env.ts',
    'no cycles: src/round.ts → src/trip.ts',
    'src imports only itself and what lies below: src/up.ts → trainers/trainer.ts',
    'what stands beside the rooms of src imports none of them: src/low.ts → src/text/far.ts',
  ]);
  expect(unnamed(folder, ['src', 'trainers'])).toEqual(['trainers/deep/utils.ts']);
  expect(unownedRandomness(folder, ['trainers', 'envs', 'experts'])).toEqual(['experts/expert.ts']);
});
