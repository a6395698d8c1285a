import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MetricsLog } from '../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { TensorBoardWriter } from '../../checkpoints/tensorboard.ts';
import type { StateTable } from '../../envs/state-table.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import { restoreStopAgent, saveStopAgent } from '../../trainers/stop-agent/checkpoint.ts';
import { trainStopAgent } from '../../trainers/stop-agent/loop.ts';
import { greedyStop, stopProbabilities } from '../../trainers/stop-agent/policy.ts';
import {
  createStopAgentTraining,
  disposeStopAgentTraining,
  type StopAgentTraining,
} from '../../trainers/stop-agent/setup.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
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

/** Keeps this many checkpoints of a run. */
const checkpointsKept = 2;

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
  const training = createStopAgentTraining(prepared.data, [{ seed, config: experiment.agent }]);
  try {
    const trained = await train({ run, training, prepared, experiment, hooks });
    if (!trained) return null;
    const result = await test({ prepared, training, experiment, seed, run });
    run.writeResult(result);
    return result;
  } finally {
    disposeStopAgentTraining(training);
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

/** Trains from the last checkpoint on, logging every iteration; false when it was stopped. */
async function train(settings: {
  run: RunDirectory;
  training: StopAgentTraining;
  prepared: PreparedTrial;
  experiment: Experiment;
  hooks: TrialHooks;
}): Promise<boolean> {
  const { run, training, prepared, experiment, hooks } = settings;
  const { iterations } = experiment.agent;
  const latest = run.latestCheckpoint();
  if (latest !== null) {
    restoreStopAgent(latest.path, training, prepared.stateIdentity);
    hooks.onNote?.(`resuming ${run.path} at iteration ${training.iteration}`);
  }
  const resumeStep = latest?.step ?? null;
  const log = MetricsLog.open(run.metricsPath, { resumeStep });
  const board = TensorBoardWriter.open(run.path, { resumeStep });
  const checkpoint = () => {
    log.sync();
    saveStopAgent(run.checkpointPath(training.iteration), training, prepared.stateIdentity);
    run.pruneCheckpoints({ keepLast: checkpointsKept });
  };
  try {
    await trainStopAgent(training, {
      onIteration: ({ iteration }, [metrics]) => {
        log.append({ step: iteration, ...metrics });
        board.scalars(iteration, metrics);
        if (iteration % experiment.checkpointEvery === 0 || iteration === iterations) checkpoint();
        hooks.onStage?.('training', iteration, iterations);
      },
      ...(hooks.signal && { signal: hooks.signal }),
    });
    if (training.iteration < iterations && training.iteration % experiment.checkpointEvery !== 0) checkpoint();
  } finally {
    log.close();
    board.close();
  }
  return training.iteration === iterations;
}

/** The agent beside every baseline on the test threads; each decision goes to `decisions.jsonl`. */
async function test(settings: {
  prepared: PreparedTrial;
  training: StopAgentTraining;
  experiment: Experiment;
  seed: number;
  run: RunDirectory;
}): Promise<TrialResult> {
  const { prepared, training, experiment, seed, run } = settings;
  const { evaluation } = experiment;
  const threads = testThreads(prepared.parts.test, prepared.sequences);
  const stopsOf = ({ agent, moments }: StopAgentTraining) =>
    greedyStops({ parameters: agent.parameters, moments }, threads, prepared.tableOf);
  const trained = [decide(agentName, threads, await stopsOf(training))];
  if (prepared.data.demonstrations.some(({ expert }) => expert !== 'misleading')) {
    const config = { ...experiment.agent, initialization: 'behavior-cloning' as const };
    const cloned = createStopAgentTraining(prepared.data, [{ seed, config }]);
    trained.push(decide(cloningName, threads, await stopsOf(cloned)));
    disposeStopAgentTraining(cloned);
  }
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

/** Threads whose states are built at a time: bounds the memory of large test sets. */
const threadsAtOnce = 100;

/** Where a policy stops in each thread. */
export async function greedyStops(
  policy: Parameters<typeof stopProbabilities>[0],
  threads: readonly TestThread[],
  tableOf: (threads: readonly Thread[]) => Promise<StateTable>,
): Promise<number[]> {
  const stops: number[] = [];
  for (let start = 0; start < threads.length; start += threadsAtOnce) {
    const table = await tableOf(threads.slice(start, start + threadsAtOnce).map(({ thread }) => thread));
    stops.push(...stopProbabilities(policy, table).map(greedyStop));
  }
  return stops;
}

/** Removes a run, so that it starts anew. */
export function removeTrial(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
