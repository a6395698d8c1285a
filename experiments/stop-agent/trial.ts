import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { policyNetwork } from '../../checkpoints/policy/network.ts';
import { type ClaimRegion, outOfDistributionFrom } from '../../checkpoints/policy/out-of-distribution.ts';
import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import { unicodeThreads } from '../../checkpoints/policy/unicode-threads.ts';
import { weightsFile, writeBundle } from '../../checkpoints/policy/write-bundle.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { detectorIdentity } from '../../experts/detector.ts';
import { fittedModelSchema, LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { type JudgementSequence, judgementSequence } from '../../experts/judgement-sequence.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import { present } from '../../src/present.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';
import { trainToEnd } from '../../trainers/trainer.ts';
import { openJudgeOf } from '../judging/judge.ts';
import { writeDecisions } from '../run/decisions-file.ts';
import { writeParts } from '../run/parts-file.ts';
import { trainInDirectory } from '../run/train-in-directory.ts';
import type { Cache } from './cache.ts';
import { chooseThreshold } from './choose-threshold.ts';
import { claimRegion } from './claim-region.ts';
import { linesOfStops, writeJudged, writeStopProbabilities } from './decided-files.ts';
import { agentName, cloningFile, cloningName, type SystemDecisions } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { annotationsHash, recallForTraining } from './judge-for-training.ts';
import { guaranteeFile, thresholdOf } from './operating-point.ts';
import { type ExperimentData, loadParts, notedParts, type Parts, testedThreads, trainedThreads } from './parts.ts';
import { policyFolderName } from './policy/policy-folder.ts';
import { type BundledModel, bundleOf, goldenPosts, readsField } from './policy/write-policy.ts';
import { halfway } from './policy-settings.ts';
import {
  decidedParts,
  judgedThreads,
  type PreparedTrial,
  prepareTrial,
  splitMaterial,
  type TrialMaterial,
} from './prepare.ts';
import { resultOfRun, type StoredResult, type TrialResult, trialResult } from './result.ts';
import type { ReadThread } from './scored-thread.ts';
import { decideByPolicies, learntPolicy, seenPosts } from './states.ts';
import { streamOptimum } from './stream-optimum.ts';
import { watchTraining } from './watch-training.ts';

/** One agent with one seed, and where its run goes. */
export interface TrialSettings {
  readonly experiment: Experiment;
  readonly seed: number;
  readonly directory: string;
  readonly data: ExperimentData;
  readonly cache: Cache;
  /** Its threads and judgements; those of its split unless given. */
  readonly material?: TrialMaterial;
  /** Scores of its demonstration threads by agents that have not seen them, by thread id; its own agent scores them unless given. */
  readonly heldOutScores?: ReadonlyMap<string, readonly number[]>;
  /** Where its policy goes, and what that is worth; a fold has none. The folder `policy` of the trial and its own result unless given. */
  readonly policy?: PolicyPlace | null;
}

/** The policy of a trial that is tested elsewhere. */
export interface PolicyPlace {
  readonly folder: string;
  /** Threads of which readers of the bundle decide some again. */
  readonly threads: readonly Thread[];
  /** Called once the trial's threshold is known. */
  result(): TrialResult;
}

/** The backend and the context that the trials of one process share. */
export interface Surroundings {
  readonly backend: BackendChoice;
  readonly context: WorkContext;
}

/**
 * Trains the agent of a trial, tests it beside every baseline and leaves everything in its directory. A finished run is left as
 * it is, and one that was cut off goes on from its last checkpoint. False when the signal stopped it.
 * @throws InputError when the directory holds a run of another config, seed, data, detector or annotations
 */
export async function runTrial(settings: TrialSettings, surroundings: Surroundings): Promise<boolean> {
  const { context } = surroundings;
  if (await isFinishedAlready(settings, surroundings)) return true;
  const trial = await begin(settings, surroundings);
  const { experiment, seed, prepared, run } = trial;
  const trainer = await createStopAgent({ seed, config: experiment.agent, problem: prepared.problem });
  try {
    const isTrained = await trainInDirectory(trainer, {
      run,
      identity: prepared.stateIdentity,
      checkpointEvery: experiment.checkpointEvery,
      context,
      afterIteration: await watchTraining(trainer, trial, context),
    });
    if (!isTrained) return false;
    const agent = await trainer.policy();
    const result = await test(trial, agent, context);
    await writePolicy(trial, { agent, result });
    resultOfRun.write(run, result);
    return true;
  } finally {
    trainer.dispose();
  }
}

interface BegunTrial extends TrialSettings {
  readonly prepared: PreparedTrial;
  readonly run: RunDirectory;
}

async function begin(trial: TrialSettings, { backend, context }: Surroundings): Promise<BegunTrial> {
  const { experiment, seed, directory } = trial;
  const settings = { ...trial, context };
  const prepared = await prepareTrial(trial.material ?? (await splitMaterial(settings)), settings);
  const run = RunDirectory.create(directory, {
    config: experiment,
    facts: { seed, backend: backend.name, device: backend.device, hashes: prepared.hashes },
  });
  writeParts(run, notedParts(prepared.parts));
  return { ...trial, prepared, run };
}

/**
 * Whether the directory holds this very run, finished. All that shaped it is compared, without training or asking anything
 * again: the detector and the judgements are looked up where they are kept.
 */
async function isFinishedAlready(trial: TrialSettings, { backend, context }: Surroundings): Promise<boolean> {
  const { directory, experiment, seed, data, cache } = trial;
  if (!existsSync(join(directory, 'result.json'))) return false;
  const run = RunDirectory.open(directory);
  resultOfRun.read(run);
  const { hashes } = run.readRecord();
  const create = (now: Record<string, string>) =>
    RunDirectory.create(directory, {
      config: experiment,
      facts: { seed, backend: backend.name, device: backend.device, hashes: { ...hashes, ...now } },
    });
  create({ data: data.hash, embeddings: cache.embeddings.identityHash });
  if (trial.material !== undefined) {
    const { detector, sequences } = trial.material;
    create({ detector: detectorIdentity(detector), annotations: annotationsHash(sequences) });
    return true;
  }
  // A local detector was trained from what has been compared.
  if (!('file' in experiment.detector)) return true;
  const recalled = await recallForTraining({
    judge: { judge: await openJudgeOf(experiment.detector.file, taskOf(experiment)), options: experiment.detector },
    threads: judgedThreads(await loadParts(data, { experiment, seed }), experiment),
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    context,
  });
  create({ detector: detectorIdentity(recalled.detector) });
  if (recalled.missing === 0) create({ annotations: annotationsHash(recalled.sequences) });
  else
    context.onNote(
      `${recalled.missing} of the judgements that ${directory} was trained on are no longer in the store; its decisions are shown as they are`,
    );
  return true;
}

/** Tries what was trained on every part that is decided. What each decided, and what rules need, goes to the run. */
async function test(
  { prepared, experiment, seed, run, heldOutScores }: BegunTrial,
  policy: StopPolicy,
  context: WorkContext,
): Promise<StoredResult> {
  const { parts, problem, schedule } = prepared;
  // A settled agent copies nobody, so a copy of the demonstrations says nothing about it.
  const hasClone =
    experiment.agent.algorithm !== 'settled' && problem.demonstrations.some(({ expert }) => expert !== 'misleading');
  const cloned = hasClone ? await clonedPolicy(problem, { experiment, seed, context }) : null;
  if (cloned !== null) writeFileAtomically(join(run.path, cloningFile), weightsFile(policyNetwork(cloned)));
  await chooseThreshold(policy, { prepared, experiment, run, heldOutScores });
  const learnt = { [agentName]: policy, ...(cloned !== null && { [cloningName]: cloned }) };
  let systems: readonly SystemDecisions[] = [];
  // What is shipped learned from all labels, and has none to be tested on.
  for (const part of decidedParts(parts, experiment).filter((part) => parts[part].length > 0)) {
    const decided = await decideAll(learnt, parts[part], { prepared, experiment, run });
    systems = decided.systems;
    const stops = systems.flatMap(({ decisions }) => decisions);
    writeDecisions(run.path, linesOfStops(stops, { labels: taskOf(experiment).labels, part }), part);
    writeJudged(run.path, decided.judged, part);
    writeStopProbabilities(run.path, decided.scored, part);
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
    schedule,
    detector: prepared.detector instanceof LocalDetector ? prepared.detector.model.training.heldOut : null,
    learningCurve: null,
    unlikeTraining: unlikeTraining(prepared.parts, { experiment, region: await trainingRegion(prepared.parts) }),
  };
}

/** Writes the policy of a trial as a bundle. */
async function writePolicy(
  trial: BegunTrial,
  { agent, result }: { agent: StopPolicy; result: StoredResult },
): Promise<void> {
  const { experiment, seed, prepared, run } = trial;
  const { parts, materials, detector, student, projection, hashes } = prepared;
  const {
    folder = join(run.path, policyFolderName),
    threads = parts[result.part],
    result: measured = () => trialResult(run, result, { withIntervals: 'agent' }),
  } = trial.policy ?? {};
  if (trial.policy === null) return;
  const network = policyNetwork(agent);
  const definition = await learntPolicy(network, { ...materials, threshold: thresholdOf(run) });
  const local = detector instanceof LocalDetector ? detector : null;
  const contents = await bundleOf({
    system: agentName,
    definition,
    network,
    projection,
    encoder: readsField(definition, 'posts') ? materials.cache.embeddings.encoderIdentity : null,
    detector: local && bundledModel(local),
    student: student && bundledModel(student.reader),
    guarantee: guaranteeFile.find(run),
    trainedClaims: await trainingRegion(parts),
    experiment,
    training: { seed, step: run.trainedCheckpoint().step, hashes: { ...hashes } },
    identities: { trained: trainedThreads(run), tested: testedThreads(run) },
    golden: await goldenThreads(threads, { prepared, definition, local }),
    result: measured(),
  });
  writeBundle(folder, contents, { force: true });
}

function bundledModel({ model }: LocalDetector): BundledModel {
  const text = `${JSON.stringify(fittedModelSchema.parse(model), null, 1)}\n`;
  return { text, isSelfContained: model.encoder === null };
}

const mostGoldenThreads = 16;

/** The first of some threads, and threads of odd characters. Language models are not asked for their sake. */
async function goldenThreads(
  threads: readonly Thread[],
  {
    prepared,
    definition,
    local,
  }: { prepared: PreparedTrial; definition: PolicyDefinition; local: LocalDetector | null },
): Promise<ReadThread[]> {
  const { materials, sequences } = prepared;
  const { fields, queries, task } = definition;
  const first = threads.slice(0, mostGoldenThreads).map(({ posts, ...thread }): Thread => {
    return { ...thread, posts: [posts[0], ...posts.slice(1, goldenPosts)] };
  });
  const odd = queries.lengths.length > 0 && local === null ? [] : unicodeThreads.map(threadOfTexts);
  // A reader has no other student than this one.
  const student = materials.student && { ...materials.student, heldOut: new Map() };
  const golden: ReadThread[] = [];
  for (const thread of [...first, ...odd]) {
    const sequence =
      local === null ? sequences.get(thread.id) : await sequenceBy(local, { thread, labels: task.labels });
    golden.push({ thread, inputs: await seenPosts(thread, { ...materials, student, sequence, fields }) });
  }
  return golden;
}

/** The judgements of a detector about every prefix of a thread. */
async function sequenceBy(
  detector: LocalDetector,
  { thread, labels }: { thread: Thread; labels: readonly string[] },
): Promise<JudgementSequence> {
  const judgements = [];
  for (const index of thread.posts.keys()) judgements.push(await detector.judge(prefixOf(thread, index + 1)));
  return judgementSequence({ threadId: thread.id, labels, judgements });
}

function threadOfTexts({ id, texts }: { id: string; texts: readonly string[] }): Thread {
  const [claim, ...replies] = texts.map((text, index) => {
    return { id: `${id}:${index + 1}`, time: null, author: null, parent: null, text, stance: null };
  });
  return { id, event: null, veracity: null, rumor: null, posts: [claim, ...replies] };
}

/** Where the training claims lie. Predictions are the detector's; one from a file was trained elsewhere, so the agent's threads stand in. */
function trainingRegion({ detector, demonstrations, environment }: Parts): Promise<ClaimRegion> {
  return claimRegion(claimsOf(detector.length > 0 ? detector : [...demonstrations, ...environment]));
}

/** The share of the decided threads that is out of distribution for the training claims. */
function unlikeTraining(parts: Parts, { experiment, region }: { experiment: Experiment; region: ClaimRegion }): number {
  const outOfDistributionOf = outOfDistributionFrom(region);
  const claims = claimsOf(parts[experiment.evaluation.part]);
  if (claims.length === 0) return 0;
  return claims.filter((claim) => outOfDistributionOf(claim).isFlagged).length / claims.length;
}

function claimsOf(threads: readonly Thread[]): string[] {
  return threads.map(({ posts: [claim] }) => claim.text);
}

/** Decides threads by learnt policies, and collects what rules need to decide them. */
async function decideAll(
  learnt: Readonly<Record<string, StopPolicy>>,
  threads: readonly Thread[],
  { prepared, experiment, run }: Pick<BegunTrial, 'prepared' | 'experiment' | 'run'>,
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
async function clonedPolicy(
  problem: StopProblem,
  { experiment, seed, context }: { experiment: Experiment; seed: number; context: WorkContext },
): Promise<StopPolicy> {
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
