import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { StateTable } from '../../envs/state-table.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import { workContext } from '../../src/work-context.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import { greedyStop, type StopPolicy, stopProbabilities } from '../../trainers/stop-agent/policy.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';
import { trainToEnd } from '../../trainers/trainer.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
import { trainInDirectories } from '../run/train-in-directories.ts';
import type { Cache } from './cache.ts';
import {
  type Decision,
  decide,
  decideByRule,
  evaluationRules,
  scoreDecisions,
  systemScoresSchema,
  type TestThread,
  testThreads,
} from './decisions.ts';
import type { Experiment } from './experiment.ts';
import { threadsHash } from './parts.ts';
import { type PreparedTrial, prepareTrial } from './prepare.ts';

export const agentName = 'stop agent';
export const cloningName = 'behaviour cloning';

export const trialResultSchema = z.strictObject({
  seed: z.int(),
  threads: z.record(z.string(), z.int()).describe('threads in each part'),
  demonstrations: z.record(z.string(), z.int()).describe('trajectories of each expert'),
  stopsAtFirstPost: z.record(z.string(), z.number()).describe('share of them that stop at the first post'),
  systems: z.array(systemScoresSchema),
});
export type TrialResult = z.infer<typeof trialResultSchema>;

/**
 * One run: trains one agent with one seed, tests it beside every baseline, leaves everything in `directory`. A run that is
 * finished is read, one that was cut off goes on from its last checkpoint. Null when the signal stopped it.
 */
export async function runTrial(settings: {
  experiment: Experiment;
  seed: number;
  directory: string;
  threads: readonly Thread[];
  cache: Cache;
  backend: BackendChoice;
  hooks?: TrialHooks;
}): Promise<TrialResult | null> {
  const { experiment, seed, directory, threads, cache, backend, hooks = {} } = settings;
  const finished = finishedRun(settings);
  if (finished !== null) return finished;
  const prepared = await prepareTrial({
    experiment,
    seed,
    threads,
    cache,
    ...(hooks.onStage && { onProgress: hooks.onStage }),
    ...(hooks.onNote && { onNote: hooks.onNote }),
    ...(hooks.signal && { signal: hooks.signal }),
  });
  const run = RunDirectory.create(directory, {
    config: experiment,
    facts: { seed, backend: backend.name, device: backend.device, hashes: prepared.hashes },
  });
  if (run.isFinished()) return trialResultSchema.parse(run.readResult(trialResultSchema));

  if (prepared.detector instanceof LocalDetector) prepared.detector.save(join(directory, 'detector.json'));
  prepared.student?.reader.save(join(directory, 'student.json'));
  const trainer = await createStopAgent([{ seed, config: experiment.agent, problem: prepared.data }]);
  try {
    const isFinished = await trainInDirectories(trainer, {
      runs: [run],
      identities: [prepared.stateIdentity],
      checkpointEvery: experiment.checkpointEvery,
      context: workContext({
        ...(hooks.signal && { signal: hooks.signal }),
        ...(hooks.onNote && { onNote: hooks.onNote }),
        ...(hooks.onStage && { onProgress: hooks.onStage }),
      }),
    });
    if (!isFinished) return null;
    const [policy] = await trainer.policies();
    const result = await test({ prepared, policy, experiment, seed, run });
    run.writeResult(result);
    return result;
  } finally {
    trainer.dispose();
  }
}

/** The result of a run of the same config, seed and data: the rest follows from them and need not be prepared again. */
function finishedRun(of: {
  directory: string;
  experiment: Experiment;
  seed: number;
  threads: readonly Thread[];
}): TrialResult | null {
  if (!existsSync(join(of.directory, 'result.json'))) return null;
  const run = RunDirectory.open(of.directory);
  const { seed, hashes } = run.readRecord();
  const same =
    seed === of.seed &&
    isDeepStrictEqual(run.readConfig(z.unknown()), JSON.parse(JSON.stringify(of.experiment))) &&
    hashes.data === threadsHash(of.threads);
  return same ? run.readResult(trialResultSchema) : null;
}

/** The agent beside every baseline on the test threads; each decision goes to `decisions.jsonl`. */
async function test(settings: {
  prepared: PreparedTrial;
  policy: StopPolicy;
  experiment: Experiment;
  seed: number;
  run: RunDirectory;
}): Promise<TrialResult> {
  const { prepared, policy, experiment, seed, run } = settings;
  const { evaluation } = experiment;
  const threads = testThreads(prepared.parts.test, prepared.sequences);
  const stopsOf = (own: StopPolicy) => greedyStops(own, threads, prepared.tableOf);
  const trained = [decide(agentName, threads, await stopsOf(policy))];
  if (prepared.data.demonstrations.some(({ expert }) => expert !== 'misleading'))
    trained.push(decide(cloningName, threads, await stopsOf(await clonedPolicy(prepared.data, { experiment, seed }))));
  const all: [Decision[], 'one' | 'every' | 'oracle'][] = [
    ...trained.map((decisions): [Decision[], 'one'] => [decisions, 'one']),
    ...evaluationRules(evaluation).map((rule): [Decision[], typeof rule.calls] => [
      decideByRule(rule, threads),
      rule.calls,
    ]),
  ];
  const lines = all.flatMap(([decisions]) => decisions.map((decision) => JSON.stringify(decision)));
  writeFileAtomically(join(run.path, 'decisions.jsonl'), `${lines.join('\n')}\n`);
  const count = (expert: string) => prepared.data.demonstrations.filter((own) => own.expert === expert);
  return {
    seed,
    threads: Object.fromEntries(Object.entries(prepared.parts).map(([part, { length }]) => [part, length])),
    demonstrations: Object.fromEntries(expertNames.map((expert) => [expert, count(expert).length])),
    stopsAtFirstPost: Object.fromEntries(
      expertNames.map((expert) => {
        const own = count(expert);
        return [expert, own.length === 0 ? 0 : own.filter(({ stopStep }) => stopStep === 0).length / own.length];
      }),
    ),
    systems: all.map(([decisions, calls]) =>
      scoreDecisions(decisions, { calls, seed, resamples: evaluation.resamples }),
    ),
  };
}

/** The cloning baseline: a copy of the same demonstrations, on the same states. */
async function clonedPolicy(
  problem: StopProblem,
  { experiment, seed }: { experiment: Experiment; seed: number },
): Promise<StopPolicy> {
  const config = {
    ...experiment.agent,
    algorithm: 'behavior-cloning' as const,
    initialization: 'random' as const,
    normalizer: 'per-feature' as const,
  };
  const cloning = await createStopAgent([{ seed, config, problem }]);
  await trainToEnd(cloning, workContext());
  const [policy] = await cloning.policies();
  cloning.dispose();
  return policy;
}

/** Threads whose states are built at a time: bounds the memory of large test sets. */
const threadsAtOnce = 100;

/** Where a policy stops in each thread. */
export async function greedyStops(
  policy: StopPolicy,
  threads: readonly TestThread[],
  tableOf: (threads: readonly Thread[]) => Promise<StateTable>,
): Promise<number[]> {
  const stops: number[] = [];
  for (let start = 0; start < threads.length; start += threadsAtOnce) {
    const table = await tableOf(threads.slice(start, start + threadsAtOnce).map(({ thread }) => thread));
    stops.push(...(await stopProbabilities(policy, table)).map(greedyStop));
  }
  return stops;
}

/** Removes a run, so that it starts anew. */
export function removeTrial(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
