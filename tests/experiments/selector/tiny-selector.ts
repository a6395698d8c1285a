import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { trialsOf } from '../../../experiments/kinds/experiment-kind.ts';
import { startTrials } from '../../../experiments/kinds/kinds.ts';
import { failureOf } from '../../../experiments/run/failures.ts';
import type { TrialFailure } from '../../../experiments/run/trial.ts';
import { trialsHere } from '../../../experiments/run/trials-here.ts';
import { openExperiment } from '../../../experiments/runner/open-experiment.ts';
import { plantedStances } from '../../../src/data/synthetic/planted-stances.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const planted = { threads: 24, testThreads: 12, replies: 4, pretrainingItems: 60, seed: 1 };
const words = { name: 'local', encoder: { name: 'hashing', dimensions: 64 } };

/** Settings of a selector that trains in a second; JSON is YAML. */
export const tinySelector = {
  kind: 'selector',
  name: 'tiny',
  seeds: [1],
  data: { planted },
  encoder: { name: 'hashing', dimensions: 32 },
  stanceModel: words,
  veracityModel: words,
  selector: { epochs: 3, learningRate: 0.02, entropy: 0.02, postReward: 'reward-to-go', agreement: 'cosine' },
};

/** A folder with `tiny.yaml`; what is given replaces whole parts of it. */
export function tinyFolder(parts: Record<string, unknown> = {}, files: Record<string, unknown> = {}): string {
  const cwd = temporaryFolder(files);
  writeFileSync(join(cwd, 'tiny.yaml'), JSON.stringify({ ...tinySelector, ...parts }));
  return cwd;
}

/** Trains what `tiny.yaml` says as the command does, without a process of its own. Returns what was noted. */
export async function trainHere(cwd: string, overrides: Record<string, unknown> = {}): Promise<string[]> {
  const notes: string[] = [];
  const runs = join(cwd, 'runs');
  const experiment = await openExperiment({ path: join(cwd, 'tiny.yaml'), overrides: [overrides], runs });
  const { signal } = new AbortController();
  const failures: TrialFailure[] = [];
  const run = trialsHere({ start: startTrials, signal, onNote: (line) => notes.push(line) });
  for (const trial of trialsOf(experiment)) {
    const outcome = await run(trial);
    if (outcome.how === 'failed') failures.push(outcome);
  }
  if (failures.length > 0) throw failureOf(failures, failures[0].message);
  return notes;
}

/** The threads that `tinySelector` makes up. */
export function tinyThreads(): ReturnType<typeof plantedStances> {
  return plantedStances(planted);
}

export function lines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}

export function withoutReplies({ posts: [claim], ...thread }: Thread): Thread {
  return { ...thread, posts: [claim] };
}

/** What a run must give again, byte for byte. */
export function outcomeOf(run: string): Record<string, string> {
  const names = readdirSync(run, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /^(config|result|last-epoch)\.json$|^(metrics|decisions)\.jsonl$|^checkpoints\/step/.test(name),
  );
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(run, name)).toString('base64')]));
}
