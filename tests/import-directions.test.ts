import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cruise, type IFlattenedRuleSet } from 'dependency-cruiser';
import { expect, it } from 'vitest';
import { temporaryFolder } from './src/data/fixtures.ts';

const home = join(import.meta.dirname, '..');
/** Upper floors first; those in one row do not know one another. */
const floors = [['experiments'], ['trainers'], ['experts', 'envs', 'checkpoints'], ['src']];
const folders = floors.flat();

/** The one date a trainer, environment or expert may ask for: a server's `retry-after` that is a date is held against now. */
const knownClock = 'experts/llm/call-failure.ts';

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
  return [
    ...directions,
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
    'experiments/run.ts': "export { expert } from '../experts/expert.ts';\nexport { fine } from '../src/fine.ts';\n",
  });
  expect(await wrongImports(folder)).toEqual([
    'envs know neither tensors nor files: envs/env.ts → fs/promises',
    'every import exists: envs/missing.ts → ./nowhere.ts',
    'experts imports only itself and what lies below: experts/expert.ts → envs/env.ts',
    'no cycles: src/round.ts → src/trip.ts',
    'src imports only itself and what lies below: src/up.ts → trainers/trainer.ts',
  ]);
  expect(unnamed(folder, ['src', 'trainers'])).toEqual(['trainers/deep/utils.ts']);
  expect(unownedRandomness(folder, ['trainers', 'envs', 'experts'])).toEqual(['experts/expert.ts']);
});
