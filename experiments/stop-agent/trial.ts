import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { policyNetwork } from '../../checkpoints/policy/network.ts';
import { type ClaimRegion, outOfDistributionFrom } from '../../checkpoints/policy/out-of-distribution.ts';
import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import { weightsFile } from '../../checkpoints/policy/write-bundle.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { detectorIdentity } from '../../experts/detector.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import type { Thread } from '../../src/data/thread.ts';
import { present } from '../../src/present.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';
import { trainToEnd } from '../../trainers/trainer.ts';
import { writeParts } from '../run/parts-file.ts';
import { trainInDirectory } from '../run/train-in-directory.ts';
import { chooseThreshold } from './choose-threshold.ts';
import { claimsOf, trainingRegion } from './claim-region.ts';
import { writeDecided } from './decided-files.ts';
import { agentName, cloningFile, cloningName, type SystemDecisions } from './decisions.ts';
import { taskOf } from './experiment.ts';
import { annotationsHash, recallByFile } from './judge-for-training.ts';
import { thresholdOf } from './operating-point.ts';
import { loadParts, notedParts } from './parts.ts';
import { writeTrainedPolicy } from './policy/trained-policy.ts';
import { halfway, scheduleOf } from './policy-settings.ts';
import {
  type BegunTrial,
  decidedParts,
  judgedThreads,
  prepareTrial,
  splitMaterial,
  type TrialSettings,
} from './prepare.ts';
import { resultOfRun, type StoredResult } from './result.ts';
import { decideByPolicies, learntPolicy, stateIdentityOf } from './states.ts';
import { streamOptimum } from './stream-optimum.ts';

/**
 * Trains the agent of a trial, tests it beside every baseline and leaves everything in its directory. A finished run is left as
 * it is, and one that was cut off goes on from its last checkpoint. False when the signal stopped it.
 * @throws InputError when the directory holds a run of another config, seed, data, detector or annotations
 */
export async function runTrial(settings: TrialSettings): Promise<boolean> {
  if (await isFinishedAlready(settings)) return true;
  const { experiment, seed, directory, material, backend, context } = settings;
  const prepared = await prepareTrial(material ?? (await splitMaterial(settings)), settings);
  const facts = { seed, backend: backend.name, device: backend.device, hashes: prepared.hashes };
  const run = RunDirectory.create(directory, { config: experiment, facts });
  writeParts(run, notedParts(prepared.parts));
  const trial = { ...settings, prepared, run };
  const trainer = await createStopAgent({ seed, config: experiment.agent, problem: prepared.problem });
  try {
    const isTrained = await trainInDirectory(trainer, {
      run,
      identity: stateIdentityOf(prepared.materials),
      checkpointEvery: experiment.checkpointEvery,
      context,
    });
    if (!isTrained) return false;
    const agent = await trainer.policy();
    const region = await trainingRegion(prepared.parts);
    const result = await test(trial, agent, region);
    await writeTrainedPolicy(trial, { agent, result, region });
    resultOfRun.write(run, result);
    return true;
  } finally {
    trainer.dispose();
  }
}

/** Whether the directory holds this very run, finished. All that shaped it is compared, without training or asking anything again. */
async function isFinishedAlready(trial: TrialSettings): Promise<boolean> {
  const { directory, experiment, seed, data, cache, backend } = trial;
  if (!existsSync(join(directory, 'result.json'))) return false;
  const run = RunDirectory.open(directory);
  resultOfRun.read(run);
  const { name, device } = backend;
  const shaping = { data: data.hash, embeddings: cache.embeddings.identityHash, ...(await judgingHashes(trial)) };
  const hashes = { ...run.readRecord().hashes, ...shaping };
  RunDirectory.create(directory, { config: experiment, facts: { seed, backend: name, device, hashes } });
  return true;
}

/** Of the detector and the judgements as they are kept now; a local detector was trained from what is compared already. */
async function judgingHashes(trial: TrialSettings): Promise<Record<string, string>> {
  const { directory, experiment, seed, data, cache, context, material } = trial;
  const { detector: options } = experiment;
  if (material === undefined && !('file' in options)) return {};
  const { detector, sequences, missing } =
    material !== undefined || !('file' in options)
      ? { ...material!, missing: 0 }
      : await recallByFile({
          options,
          task: taskOf(experiment),
          threads: judgedThreads(await loadParts(data, { experiment, seed }), experiment),
          store: cache.annotations,
          maxPosts: experiment.maxJudgedPosts,
          context,
        });
  if (missing > 0)
    context.onNote(
      `${missing} of the judgements that ${directory} was trained on are no longer in the store; its decisions are shown as they are`,
    );
  return { detector: detectorIdentity(detector), ...(missing === 0 && { annotations: annotationsHash(sequences) }) };
}

/** Tries what was trained on every part that is decided. What each decided, and what rules need, goes to the run. */
async function test(trial: BegunTrial, policy: StopPolicy, region: ClaimRegion): Promise<StoredResult> {
  const { prepared, experiment, seed, run } = trial;
  const { parts, problem } = prepared;
  // A settled agent copies nobody, so a copy of the demonstrations says nothing about it.
  const hasClone =
    experiment.agent.algorithm !== 'settled' && problem.demonstrations.some(({ expert }) => expert !== 'misleading');
  const cloned = hasClone ? await clonedPolicy(problem, trial) : null;
  if (cloned !== null) writeFileAtomically(join(run.path, cloningFile), weightsFile(policyNetwork(cloned)));
  await chooseThreshold(policy, trial);
  const learnt = { [agentName]: policy, ...(cloned !== null && { [cloningName]: cloned }) };
  let systems: readonly SystemDecisions[] = [];
  // What is shipped learned from all labels, and has none to be tested on.
  for (const part of decidedParts(parts, experiment).filter((part) => parts[part].length > 0)) {
    const decided = await decideAll(learnt, parts[part], trial);
    systems = decided.systems;
    const stops = systems.flatMap(({ decisions }) => decisions);
    writeDecided(run.path, { ...decided, stops, labels: taskOf(experiment).labels, part });
  }
  const of = (expert: string) => problem.demonstrations.filter((demonstration) => demonstration.expert === expert);
  const share = (demonstrations: ReturnType<typeof of>) => {
    return demonstrations.length === 0
      ? 0
      : demonstrations.filter(({ stopStep }) => stopStep === 0).length / demonstrations.length;
  };
  return {
    seed,
    threads: Object.fromEntries(Object.entries(notedParts(parts)).map(([part, { length }]) => [part, length])),
    demonstrations: Object.fromEntries(expertNames.map((expert) => [expert, of(expert).length])),
    stopsAtFirstPost: Object.fromEntries(expertNames.map((expert) => [expert, share(of(expert))])),
    systems: systems.map(({ name, queries }) => ({ name, queries })),
    part: experiment.evaluation.part,
    schedule: scheduleOf(experiment),
    detector: prepared.detector instanceof LocalDetector ? prepared.detector.model.training.heldOut : null,
    learningCurve: null,
    unlikeTraining: unlikeTraining(parts[experiment.evaluation.part], region),
  };
}

/** The share of the decided threads that is out of distribution for the training claims. */
function unlikeTraining(decided: readonly Thread[], region: ClaimRegion): number {
  if (decided.length === 0) return 0;
  const outOfDistributionOf = outOfDistributionFrom(region);
  return claimsOf(decided).filter((claim) => outOfDistributionOf(claim).isFlagged).length / decided.length;
}

/** Decides threads by learnt policies, and collects what rules need to decide them. */
async function decideAll(
  learnt: Readonly<Record<string, StopPolicy>>,
  threads: readonly Thread[],
  { prepared, experiment, run }: BegunTrial,
) {
  const { sequences, materials } = prepared;
  const policies: Record<string, PolicyDefinition> = {};
  for (const [name, policy] of Object.entries(learnt)) {
    const threshold = name === agentName ? thresholdOf(run) : halfway;
    policies[name] = await learntPolicy(policyNetwork(policy), { ...materials, threshold });
  }
  const { tested, systems, scores } = await decideByPolicies(policies, threads, { ...materials, sequences });
  const scored = threads.map(({ id }, index) => ({ threadId: id, scores: scores[index] }));
  return { judged: tested, systems: present([...systems, streamOptimum(experiment, threads)]), scored };
}

/** The cloning baseline: a copy of the same demonstrations, on the same states. */
async function clonedPolicy(problem: StopProblem, { experiment, seed, context }: BegunTrial): Promise<StopPolicy> {
  const config = {
    ...experiment.agent,
    algorithm: 'behavior-cloning' as const,
    initialization: 'random' as const,
  };
  const cloning = await createStopAgent({ seed, config, problem });
  await trainToEnd(cloning, context);
  const policy = await cloning.policy();
  cloning.dispose();
  return policy;
}
