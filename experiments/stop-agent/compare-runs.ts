import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rumorTask as task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';
import { comparePaired } from '../../src/metrics/bootstrap.ts';
import { macroF1 } from '../../src/metrics/classification.ts';
import { earlyRate } from '../../src/metrics/earliness.ts';
import { type Decision, decisionSchema } from './decisions.ts';

export interface Comparison {
  readonly threads: number;
  /** First minus second, with its 95 % interval and two-sided p-value (paired bootstrap over threads). */
  readonly macroF1: ReturnType<typeof comparePaired>;
  readonly er: ReturnType<typeof comparePaired>;
}

export interface ComparedSystem {
  /** A run, or a folder of runs with one seed each, which are paired by seed. */
  readonly folder: string;
  readonly system: string;
}

/**
 * Two systems on the threads that both decided, paired.
 * @throws InputError when they share no thread, or a folder holds no decisions of the system.
 */
export function compareSystems(first: ComparedSystem, second: ComparedSystem, options: { seed: number }): Comparison {
  const left = decisionsOf(first);
  const right = decisionsOf(second);
  const shared = [...left.keys()].filter((key) => right.has(key));
  if (shared.length === 0)
    throw new InputError(
      `${first.folder} and ${second.folder} share no tested thread under the same seed (${left.size} and ${right.size} decisions); compare runs with the same split and seeds`,
    );
  const paired = (of: Map<string, Decision>) => shared.map((key) => of.get(key)!);
  const statistics = [paired(left), paired(right)].map((decisions) => {
    const gold = decisions.map((decision) => decision.gold);
    const predicted = decisions.map((decision) => decision.predicted);
    const postsUsed = decisions.map((decision) => decision.postsUsed);
    const threadPosts = decisions.map((decision) => decision.posts);
    return {
      macroF1: (items: Int32Array) => macroF1({ gold, predicted, classes: task.labels.length, items }),
      er: (items: Int32Array) => earlyRate({ postsUsed, threadPosts, items }),
    };
  });
  const compare = (metric: 'macroF1' | 'er') =>
    comparePaired({
      items: shared.length,
      seed: options.seed,
      first: statistics[0][metric],
      second: statistics[1][metric],
    });
  return { threads: shared.length, macroF1: compare('macroF1'), er: compare('er') };
}

/** Decisions of one system by run and thread. */
function decisionsOf({ folder, system }: ComparedSystem): Map<string, Decision> {
  const runs = existsSync(join(folder, 'decisions.jsonl')) ? [''] : seedFolders(folder);
  const decisions = new Map<string, Decision>();
  const systems = new Set<string>();
  for (const run of runs) {
    const path = join(folder, run, 'decisions.jsonl');
    if (!existsSync(path)) continue;
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      if (line === '') continue;
      const decision = parseDecision(line, path);
      systems.add(decision.system);
      if (decision.system === system) decisions.set(`${run}/${decision.threadId}`, decision);
    }
  }
  if (systems.size === 0)
    throw new InputError(`${folder} holds no decisions.jsonl, nor do folders seed-… in it; give a finished run`);
  if (decisions.size === 0)
    throw new InputError(`${folder} has no system ${JSON.stringify(system)}; it has ${[...systems].join(', ')}`);
  return decisions;
}

function parseDecision(line: string, path: string): Decision {
  try {
    return decisionSchema.parse(JSON.parse(line));
  } catch (error) {
    throw new InputError(`${path} has a line that is no decision: ${line.slice(0, 80)}; train the run again`, {
      cause: error,
    });
  }
}

function seedFolders(folder: string): string[] {
  if (!existsSync(folder))
    throw new InputError(`there is no folder ${folder}; give a run directory or a folder of runs`);
  return readdirSync(folder).filter((name) => name.startsWith('seed-'));
}
