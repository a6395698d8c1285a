import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MetricsLog } from '../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { TensorBoardWriter } from '../../checkpoints/tensorboard.ts';
import type { StateTable } from '../../envs/state-table.ts';
import { expertNames } from '../../experts/trajectories.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { restoreStopAgent, saveStopAgent } from '../../trainers/stop-agent/checkpoint.ts';
import { trainStopAgent } from '../../trainers/stop-agent/loop.ts';
import { greedyStop, stopProbabilities } from '../../trainers/stop-agent/policy.ts';
import {
  createStopAgentTraining,
  disposeStopAgentTraining,
  type StopAgentTraining,
} from '../../trainers/stop-agent/setup.ts';
import { detectorHash } from '../judging/judge.ts';
import { annotationsHash, judgeOfRun, recallForTraining } from '../judging/judge-for-training.ts';
import { writeDecisions } from '../run/decisions-file.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
import type { Cache } from './cache.ts';
import {
  agentName,
  cloningName,
  decide,
  decideByRules,
  type SystemDecisions,
  type TestThread,
  testThreads,
} from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { splitParts, threadsHash } from './parts.ts';
import { judgedThreads, type PreparedTrial, prepareTrial } from './prepare.ts';
import { readStoredResult, type StoredResult, storedResult } from './result.ts';

/** Keeps this many checkpoints of a run. */
const checkpointsKept = 2;

/**
 * One run: trains one agent with one seed, tests it beside every baseline and leaves everything in `directory`. A finished
 * run is left as it is, and one that was cut off goes on from its last checkpoint. False when the signal stopped it.
 * @throws InputError when the directory holds a run of another config, seed, data, detector or annotations
 */
export async function runTrial(settings: {
  experiment: Experiment;
  seed: number;
  directory: string;
  threads: readonly Thread[];
  cache: Cache;
  backend: BackendChoice;
  context: WorkContext;
}): Promise<boolean> {
  const { experiment, seed, directory, threads, cache, backend, context } = settings;
  if (await isFinishedAlready(settings)) return true;
  const prepared = await prepareTrial({ experiment, seed, threads, cache, context });
  const run = RunDirectory.create(directory, {
    config: experiment,
    facts: { seed, backend: backend.name, device: backend.device, hashes: prepared.hashes },
  });
  prepared.detector.save?.(join(directory, 'detector.json'));
  prepared.student?.reader.save(join(directory, 'student.json'));
  const training = createStopAgentTraining(prepared.data, [{ seed, config: experiment.agent }]);
  try {
    const hooks = { ...context, onStage: context.onProgress };
    if (!(await train({ run, training, prepared, experiment, hooks }))) return false;
    run.writeResult(await test({ prepared, training, experiment, seed, run }));
    return true;
  } finally {
    disposeStopAgentTraining(training);
  }
}

/**
 * Whether the directory holds this very run, finished. All that shaped it is compared, without training or asking anything
 * again: the detector and the judgements are looked up where they are kept.
 */
async function isFinishedAlready(of: {
  directory: string;
  experiment: Experiment;
  seed: number;
  threads: readonly Thread[];
  cache: Cache;
  backend: BackendChoice;
  context: WorkContext;
}): Promise<boolean> {
  const { directory, experiment, seed, threads, cache, backend, context } = of;
  if (!existsSync(join(directory, 'result.json'))) return false;
  const run = RunDirectory.open(directory);
  readStoredResult(run);
  const { hashes } = run.readRecord();
  const create = (now: Record<string, string>) =>
    RunDirectory.create(directory, {
      config: experiment,
      facts: { seed, backend: backend.name, device: backend.device, hashes: { ...hashes, ...now } },
    });
  create({ data: threadsHash(threads), embeddings: cache.embeddings.identityHash });
  const recalled = await recallForTraining({
    judge: await judgeOfRun(run, experiment),
    threads: judgedThreads(splitParts(threads, experiment, seed), experiment),
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    context,
  });
  create({ detector: detectorHash(recalled.detector) });
  if (recalled.missing === 0) create({ annotations: annotationsHash(recalled.sequences) });
  else
    context.onNote(
      `${recalled.missing} of the judgements that ${directory} was trained on are no longer in the store; its decisions are shown as they are`,
    );
  return true;
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

/** Tests the agent beside every baseline. Each decision goes to `decisions.jsonl`, what they do not tell is returned. */
async function test(settings: {
  prepared: PreparedTrial;
  training: StopAgentTraining;
  experiment: Experiment;
  seed: number;
  run: RunDirectory;
}): Promise<StoredResult> {
  const { prepared, training, experiment, seed, run } = settings;
  const threads = testThreads(prepared.parts.test, { sequences: prepared.sequences, task: taskOf(experiment) });
  const stopsOf = ({ agent, moments }: StopAgentTraining) =>
    greedyStops({ parameters: agent.parameters, moments }, threads, prepared.tableOf);
  const systems: SystemDecisions[] = [decide(agentName, threads, await stopsOf(training))];
  if (prepared.data.demonstrations.some(({ expert }) => expert !== 'misleading')) {
    const config = { ...experiment.agent, initialization: 'behavior-cloning' as const };
    const cloned = createStopAgentTraining(prepared.data, [{ seed, config }]);
    systems.push(decide(cloningName, threads, await stopsOf(cloned)));
    disposeStopAgentTraining(cloned);
  }
  systems.push(...decideByRules(experiment.evaluation, threads));
  writeDecisions(
    run.path,
    systems.flatMap(({ decisions }) => decisions),
  );
  const of = (expert: string) => prepared.data.demonstrations.filter((own) => own.expert === expert);
  return storedResult({
    seed,
    threads: Object.fromEntries(Object.entries(prepared.parts).map(([part, { length }]) => [part, length])),
    demonstrations: Object.fromEntries(expertNames.map((expert) => [expert, of(expert).length])),
    stopsAtFirstPost: Object.fromEntries(
      expertNames.map((expert) => {
        const own = of(expert);
        return [expert, own.length === 0 ? 0 : own.filter(({ stopStep }) => stopStep === 0).length / own.length];
      }),
    ),
    systems: systems.map(({ name, calls }) => ({ name, calls })),
  });
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
