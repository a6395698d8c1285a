import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };

const provenanceSchema = z.object({
  earshot: z.string(),
  node: z.string(),
  platform: z.string().describe('operating system and processor, such as linux-x64'),
  packages: z.record(z.string(), z.string()).describe('every package that Earshot runs on, by name'),
  git: z
    .object({
      commit: z.string(),
      dirty: z.boolean().describe('whether a source of the program differs from the commit'),
    })
    .nullable()
    .describe('the commit of Earshot itself; null where it is not a checkout'),
});

export type Provenance = z.infer<typeof provenanceSchema>;

/** Read once: a process runs the sources that it loaded, whatever is committed later. */
let git: Provenance['git'] | undefined;

/** The running program and its platform: a repetition of a run needs the same ones. */
export function provenance(): Provenance {
  if (git === undefined) git = gitState();
  return {
    earshot: packageJson.version,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    packages: packages(),
    git,
  };
}

/** The installed packages. `package.json` pins exact versions; optional packages count if present. */
function packages(): Record<string, string> {
  const require = createRequire(import.meta.url);
  const isInstalled = (name: string) => {
    try {
      require.resolve(name);
      return true;
    } catch {
      return false;
    }
  };
  const optional = Object.entries(packageJson.optionalDependencies).filter(([name]) => isInstalled(name));
  return { ...packageJson.dependencies, ...Object.fromEntries(optional) };
}

/** The sources that a run depends on. Results, tests and documents are not part of the program. */
const sources = ['src', 'experts', 'envs', 'checkpoints', 'trainers', 'experiments', 'index.ts', 'package.json'];
const others = [':(exclude)experiments/results', ':(exclude)experiments/recipes'];

/** @param home root of the checkout; that of the running program by default */
export function gitState(home = dirname(import.meta.dirname)): Provenance['git'] {
  const ask = (...args: string[]) =>
    execFileSync('git', ['-C', home, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    });
  try {
    // If Earshot is installed inside another repository, git reports the commit of that repository.
    const [top, commit] = ask('rev-parse', '--show-toplevel', 'HEAD').split('\n');
    if (realpathSync(top) !== realpathSync(home)) return null;
    // Untracked files, such as a user's tables, change nothing that runs.
    const changed = ask('status', '--porcelain', '--untracked-files=no', '--', ...sources, ...others);
    return { commit, dirty: changed.trim() !== '' };
  } catch {
    return null;
  }
}

const sessionSchema = provenanceSchema.extend({
  backend: z.string().describe('the tensor backend, such as wasm'),
  device: z.string().describe('what the backend computes on, in words'),
  startedAt: z.iso.datetime(),
});

/** `run.json`: the program, backend, seed and data of a run; `resumed` has the program of every resuming process. */
export const runRecordSchema = sessionSchema.extend({
  formatVersion: z.literal(1),
  seed: z.number().int(),
  hashes: z
    .record(z.string(), z.string())
    .describe('of everything read that the config only names: data, embeddings, annotations'),
  resumed: z.array(sessionSchema),
});

export type RunRecord = z.infer<typeof runRecordSchema>;

/** Facts of a run that its configuration does not contain. It starts now, unless the caller knows better. */
export type RunFacts = Pick<RunRecord, 'seed' | 'backend' | 'device' | 'hashes'> &
  Partial<Pick<RunRecord, 'startedAt'>>;
