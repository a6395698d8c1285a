import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closest } from 'fastest-levenshtein';
import { calibratedOn } from '../../checkpoints/policy/calibrated-on.ts';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { bundleFiles } from '../../checkpoints/policy/manifest.ts';
import { type PolicyNetwork, policyNetwork, stopProbabilitiesOf } from '../../checkpoints/policy/network.ts';
import { type OutOfDistribution, outOfDistributionFrom } from '../../checkpoints/policy/out-of-distribution.ts';
import {
  type DetectorOutput,
  type PolicyDefinition,
  type PolicySources,
  type ThreadReader,
  threadReader,
} from '../../checkpoints/policy/policy.ts';
import type { PolicyPost } from '../../checkpoints/policy/policy-post.ts';
import { readWeights } from '../../checkpoints/policy/read-weights.ts';
import { columnsOf } from '../../checkpoints/policy/state-fields.ts';
import { guaranteeInBundle } from '../../checkpoints/policy/write-bundle.ts';
import type { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { judgementSequence } from '../../experts/judgement-sequence.ts';
import { sha256 } from '../../src/content-hash.ts';
import { taskOfLabel } from '../../src/data/task.ts';
import type { Post, Thread } from '../../src/data/thread.ts';
import { entryOf } from '../../src/entry-of.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { type JudgePosts, judgePostsBy, wholePost } from '../judging/judge-posts.ts';
import { checkDecides, type PrefixJudge } from '../judging/judge-single-prefixes.ts';
import { threadIdentity } from '../run/parts-file.ts';
import { listedBy, policyOfBundle } from './bundle-folder.ts';
import { trainedClaimsFile } from './claim-region.ts';
import { agentName, cloningFile, cloningName, rulesOf } from './decisions.ts';
import { detectorProblem } from './detector-problem.ts';
import type { MissingJudgements } from './judge-for-training.ts';
import { type OpenedRun, openStopAgentRun } from './open-run.ts';
import { guaranteesFile, testedGuarantee, thresholdOf } from './operating-point.ts';
import { testedThreads, trainedThreads } from './parts.ts';
import { halfway, rulePolicy } from './policy-settings.ts';
import { isCandidate, recommended } from './recommendation.ts';
import { readTrialResult } from './result.ts';
import { type ScoredThread, scoredThread, scoredThreads } from './scored-thread.ts';
import { embedOf, learntPolicy, seenPostsOf } from './states.ts';

/*
 * A policy from the folder of a run or of a bundle. Whatever uses it knows neither.
 */

/** A policy of a run or of a bundle. */
export interface OpenedPolicy extends ThreadReader {
  /** What messages call it. */
  readonly name: string;
  /** The row of the report that it is. */
  readonly system: string;
  readonly definition: PolicyDefinition;
  /** Whether predictions can be had. */
  readonly hasDetector: boolean;
  /** Whether predictions cost nothing: its detector is a local one. */
  readonly hasFreeDetector: boolean;
  /** Names the policy, as its audits do; another guarantee leaves it as it is. */
  readonly digest: string;
  readonly sources: PolicySources;
  /** What `earshot calibrate` found for it; null where there is no guarantee. */
  readonly guarantee: Guarantee | null;
  outOfDistribution(claim: string): OutOfDistribution | null;
  /** The gold label of a thread; null where it has none. */
  goldOf(thread: Thread): string | null;
  /** Whether it learnt from this thread. */
  isTrainedOn(thread: Thread): boolean;
  /** Whether it learnt from the thread or was tested on it. */
  isKnown(thread: Thread): boolean;
  /** Whether its guarantee was found on the thread. */
  isCalibratedOn(thread: Thread): Promise<boolean>;
  /** Scores and judges every post of these threads, as a calibration replays them. @throws InputError without a detector */
  score(threads: readonly Thread[]): Promise<ScoredThread[]>;
  /** What that would cost. */
  missing(threads: readonly Thread[]): Promise<MissingJudgements>;
  /** From then on it decides by the guarantee. */
  keep(guarantee: Guarantee): Promise<void>;
}

export interface PolicyPlace {
  readonly folder: string;
  /** The row of the report that decides; the agent unless given. A bundle holds one. */
  readonly system?: string;
  /** Folder with the shared cache of runs. */
  readonly runs: string;
  /** Takes the place of the policy's own detector. */
  readonly judge?: PrefixJudge | null;
  readonly context: WorkContext;
}

/** @throws InputError for a folder that is neither a run of a stop agent nor a bundle, or has no such system */
export async function openPolicy(place: PolicyPlace): Promise<OpenedPolicy> {
  return existsSync(join(place.folder, bundleFiles.manifest)) ? policyInBundle(place) : policyOfRun(place);
}

async function policyInBundle({ folder, system, judge = null }: PolicyPlace): Promise<OpenedPolicy> {
  const policy = await policyOfBundle(folder, judge === null ? undefined : judgePostsBy(judge));
  const { manifest, definition } = policy;
  if (system !== undefined && system !== manifest.system)
    throw new InputError(`${folder} is a bundle of ${JSON.stringify(manifest.system)}; leave --system out`);
  if (judge !== null) checkDecides(judge, manifest.task);
  const trained = await listedBy(folder, policy, [bundleFiles.trained]);
  const known = await listedBy(folder, policy, [bundleFiles.trained, bundleFiles.tested]);
  const task = taskOfLabel(manifest.task);
  return {
    ...policy,
    name: folder,
    system: manifest.system,
    guarantee: manifest.guarantee ?? null,
    goldOf: (thread) => task.labels[task.goldLabel(thread) ?? -1] ?? null,
    isTrainedOn: (thread) => trained.has(threadIdentity(thread)),
    isKnown: (thread) => known.has(threadIdentity(thread)),
    isCalibratedOn: (thread) => policy.isCalibratedOn(thread),
    score: (threads) => scoreBySources(threads, { definition, sources: policy.sources }),
    missing: async () => ({ missing: 0, estimates: null }),
    keep: (guarantee) => guaranteeInBundle(folder, guarantee),
  };
}

async function policyOfRun(place: PolicyPlace): Promise<OpenedPolicy> {
  const { folder, judge = null, context } = place;
  const opened = await openStopAgentRun({ run: folder, ...place });
  const system = systemNamed(place.system, opened);
  const { run, task, materials } = opened;
  const guarantee = guaranteesFile.find(run)?.[system] ?? null;
  const plain = await systemOfRun(opened, system);
  const definition = { ...plain, threshold: guarantee?.threshold ?? plain.threshold };
  if (judge !== null) checkDecides(judge, task);
  const region = guarantee?.claims ?? trainedClaimsFile.find(run);
  const isListed = calibratedOn(guarantee);
  const [trained, tested] = [trainedThreads(run), testedThreads(run)];
  const sources = await sourcesOfRun(opened, { judge, isQueried: definition.queries.lengths.length > 0 });
  return {
    ...threadReader(definition, sources),
    name: folder,
    system,
    definition,
    sources,
    hasDetector: sources.openDetector !== null,
    hasFreeDetector: judge === null && (await opened.detector()) !== null,
    digest: sha256({ experiment: opened.experiment, hashes: run.readRecord().hashes, seed: opened.seed, system }),
    guarantee,
    outOfDistribution: region === null ? () => null : outOfDistributionFrom(region),
    goldOf: (thread) => task.labels[task.goldLabel(thread) ?? -1] ?? null,
    isTrainedOn: (thread) => trained.has(threadIdentity(thread)),
    isKnown: (thread) => trained.has(threadIdentity(thread)) || tested.has(threadIdentity(thread)),
    isCalibratedOn: ({ id, posts: [{ text }] }) => isListed({ id, claim: text }),
    score: async (threads) =>
      scoredThreads(threads, { ...materials, definition, sequences: await opened.judged(threads) }),
    missing: opened.missing,
    keep: async (own) => {
      context.signal.throwIfAborted();
      guaranteesFile.write(run, { ...guaranteesFile.find(run), [system]: own });
    },
  };
}

/** The row of the report that is meant: the agent unless given, and for `best` the one that is recommended. */
export function systemNamed(name: string | undefined, { run, evaluated }: OpenedRun): string {
  if (name !== 'best') return name ?? agentName;
  const { ranking, detector } = readTrialResult(evaluated, { withIntervals: false });
  const problem = detector === null ? null : detectorProblem([detector]);
  if (problem !== null)
    throw new InputError(
      `${evaluated.path} recommends nothing. ${problem}. Label more threads, or name a system, such as --system ${JSON.stringify(agentName)}`,
    );
  // No rule carries a guarantee, so none is recommended in the place of an agent that does.
  if (testedGuarantee(run) !== null) return agentName;
  const candidates = ranking.decisions.filter(isCandidate).map((own) => ({ name: own.name, seeds: [own] }));
  return recommended(candidates, ranking).system.name;
}

/** A system of a run's report as a policy, as the report shows it: without a guarantee. @throws InputError for another name */
export async function systemOfRun(opened: OpenedRun, system: string): Promise<PolicyDefinition> {
  const { run, experiment, materials } = opened;
  if (system === agentName)
    return learntPolicy(policyNetwork(opened.agent), { ...materials, threshold: thresholdOf(run) });
  const cloning = join(run.path, cloningFile);
  if (system === cloningName && existsSync(cloning)) {
    const agent = await learntPolicy(policyNetwork(opened.agent), { ...materials, threshold: halfway });
    const { network } = readWeights(readFileSync(cloning), { columns: columnsOf(agent.fields) });
    return { ...agent, score: (states) => stopProbabilitiesOf(network, states) };
  }
  const rules = rulesOf(experiment, materials.schedule);
  const rule = rules.find(({ name }) => name === system);
  if (rule !== undefined) return rulePolicy(rule, experiment);
  throw new InputError(
    `${run.path} has no system ${JSON.stringify(system)} that can be deployed; did you mean ${JSON.stringify(closest(system, [agentName, ...rules.map(({ name }) => name)]))}? \`earshot report ${run.path}\` lists them`,
  );
}

/** The network of a learnt system of a run; null for a rule. */
export function networkOfSystem(opened: OpenedRun, system: string, columns: number): PolicyNetwork | null {
  if (system === agentName) return policyNetwork(opened.agent);
  if (system !== cloningName) return null;
  return readWeights(readFileSync(join(opened.run.path, cloningFile)), { columns }).network;
}

async function sourcesOfRun(
  opened: OpenedRun,
  { judge, isQueried }: { judge: PrefixJudge | null; isQueried: boolean },
): Promise<PolicySources> {
  const { materials } = opened;
  const local = await opened.detector();
  const judgeOf = judge === null ? await ownJudge(opened, { local, isQueried }) : judgePostsBy(judge);
  const { student } = materials;
  return {
    embed: embedOf(materials).embed,
    openStudent: student === null ? null : (threadId) => studentReader(student.reader, threadId),
    openDetector: judgeOf === null ? null : (threadId) => (posts) => judgeOf(posts, threadId),
  };
}

/** How the detector that a run was trained with is queried. Language models are asked only by policies that read with them. */
async function ownJudge(
  { task, judged }: OpenedRun,
  { local, isQueried }: { local: LocalDetector | null; isQueried: boolean },
): Promise<JudgePosts | null> {
  if (local !== null) return judgePostsBy(local);
  if (!isQueried) return null;
  return async (posts, threadId) => {
    const { length } = posts;
    const thread = { id: threadId, event: null, veracity: null, rumor: null, posts: posts.map(wholePost) };
    const sequences = await judged([thread], { schedule: { name: 'lengths', lengths: [length] } });
    const sequence = sequences.get(threadId);
    const label = task.labels[sequence?.predicted[length - 1] ?? -1] ?? null;
    const row = sequence?.probabilities.subarray((length - 1) * task.labels.length) ?? [];
    const probabilities = Object.fromEntries(task.labels.map((name, index) => [name, row[index]]));
    return { label, probabilities: row.some(Number.isNaN) ? null : probabilities };
  };
}

function studentReader(reader: LocalDetector, threadId: string): (post: PolicyPost) => Promise<number[]> {
  const posts: Post[] = [];
  return async (post) => {
    posts.push(wholePost(post, posts.length));
    const { probabilities } = await reader.judge({ threadId, posts });
    return reader.labels.map((name) => entryOf(probabilities ?? {}, name) ?? 1 / reader.labels.length);
  };
}

/** Reads whole threads with the sources of a policy, judging every post. */
async function scoreBySources(
  threads: readonly Thread[],
  { definition, sources }: { definition: PolicyDefinition; sources: PolicySources },
): Promise<ScoredThread[]> {
  const { task, fields, queries, limits } = definition;
  const { embed, openStudent, openDetector } = sources;
  if (openDetector === null)
    throw new InputError(
      'the bundle holds no detector, and the guarantee is about its predictions; calibrate the run that it was exported from, and export that again',
    );
  const isEmbedded = fields.some(({ name }) => name === 'posts');
  const scored: ScoredThread[] = [];
  for (const thread of threads) {
    const posts = thread.posts.slice(0, limits.maxPosts);
    const judge = openDetector(thread.id);
    const judgements: DetectorOutput[] = [];
    for (let length = 1; length <= Math.min(posts.length, queries.maxPosts); length++)
      judgements.push(await judge(posts.slice(0, length)));
    const sequence = judgementSequence({ threadId: thread.id, labels: task.labels, judgements });
    const embeddings = isEmbedded && embed !== null ? await embed(posts.map(({ text }) => text)) : null;
    const readStudent = openStudent?.(thread.id);
    const student: (readonly number[] | null)[] = [];
    for (const post of posts) student.push((await readStudent?.(post)) ?? null);
    const seen = seenPostsOf({ ...thread, posts }, { sequence, embeddings, student });
    scored.push(scoredThread(thread, { definition, seen }));
  }
  return scored;
}
