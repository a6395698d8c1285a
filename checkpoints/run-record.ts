import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };

/** Which program made something. */
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

/** Asked once: a process runs the sources that it has loaded, whatever is committed meanwhile. */
let git: Provenance['git'] | undefined;

/** The running program and what it runs on: what must be the same for a run to be repeated. */
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

/** `package.json` pins exact versions, so what it names is what is installed. Optional packages count if present. */
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

/** What a run depends on. Results, tests and documents are no part of the program. */
const sources = ['src', 'experts', 'envs', 'checkpoints', 'trainers', 'experiments', 'index.ts', 'package.json'];
const others = [':(exclude)experiments/results', ':(exclude)experiments/recipes'];

/** @param home root of the checkout; that of the running program unless given */
export function gitState(home = dirname(import.meta.dirname)): Provenance['git'] {
  const ask = (...args: string[]) =>
    execFileSync('git', ['-C', home, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 10_000,
    });
  try {
    // If Earshot is installed inside somebody else's repository, the commit found is theirs.
    const [top, commit] = ask('rev-parse', '--show-toplevel', 'HEAD').split('\n');
    if (realpathSync(top) !== realpathSync(home)) return null;
    // Files that git does not know, such as a user's tables, change nothing that runs.
    const changed = ask('status', '--porcelain', '--untracked-files=no', '--', ...sources, ...others);
    return { commit, dirty: changed.trim() !== '' };
  } catch {
    return null;
  }
}

/** What the caller knows of a run and its configuration does not say. */
const runFactsSchema = z.object({
  seed: z.number().int(),
  backend: z.string().describe('the tensor backend, such as wasm'),
  device: z.string().describe('what the backend computes on, in words'),
  hashes: z
    .record(z.string(), z.string())
    .describe('of everything read that the config only names: data, embeddings, annotations'),
  startedAt: z.iso.datetime().optional().describe('now, unless the caller knows better'),
});

export type RunFacts = z.infer<typeof runFactsSchema>;

const sessionSchema = provenanceSchema.extend({
  backend: z.string(),
  device: z.string(),
  startedAt: z.iso.datetime(),
});

/**
 * `run.json`: which program made the run, on which backend, with which seed and from which data; and, in `resumed`, the
 * program and backend of every process that resumed it.
 */
export const runRecordSchema = sessionSchema.extend({
  formatVersion: z.literal(1),
  seed: z.number().int(),
  hashes: z.record(z.string(), z.string()),
  resumed: z.array(sessionSchema),
});

export type RunRecord = z.infer<typeof runRecordSchema>;
