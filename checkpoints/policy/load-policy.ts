import { InputError } from '../../src/errors.ts';
import { likeliest } from '../../src/likeliest.ts';
import { type Audit, type AuditDraw, auditedThread, openedAudit } from './audit.ts';
import { checkGoldenThreads, type LoadedParts } from './golden.ts';
import {
  type Bundle,
  bundleFiles,
  calibratedOn,
  claimIdentity,
  fetcherOf,
  type Manifest,
  openBundle,
  policyDigest,
  type ReadFile,
} from './manifest.ts';
import { readWeights, stopProbabilitiesOf } from './network.ts';
import { type OutOfDistribution, outOfDistributionFrom } from './out-of-distribution.ts';
import {
  type OpenThread,
  type PolicyDecision,
  type PolicyDefinition,
  type PolicySources,
  type PolicyThread,
  threadReader,
} from './policy.ts';
import { type DetectorOutput, type PolicyPost, postOf } from './policy-post.ts';
import { bundledModelSchema, hashingEncoder, type PrefixReader, prefixReader } from './prefix-reader.ts';
import { stateFields } from './state-fields.ts';

/*
 * `earshot/policy`: loads a bundle and decides, in Node and in browsers. It needs no tensors, no files and no package
 * except the schemas, so it stays small.
 */

export type { Audit } from './audit.ts';
export { type AuditDraw, isAudited } from './audit.ts';
export type { Manifest } from './manifest.ts';
export type { OutOfDistribution } from './out-of-distribution.ts';
export type {
  OpenThread,
  PolicyDecision,
  PolicyThread,
  Prediction,
  Reading,
} from './policy.ts';
export type { DetectorOutput, PolicyPost } from './policy-post.ts';

export interface PolicySource {
  /** In Node: `(name) => readFile(join(folder, name))`. */
  readonly read: ReadFile;
  /**
   * Embeds texts, row-major [texts, dimensions]. Needed if the bundle's encoder is a transformer, which is not part of
   * the bundle; `manifest.encoder` names it.
   */
  readonly embed?: ((texts: readonly string[]) => Promise<Float32Array>) | undefined;
  /**
   * Judges the first posts of a thread. Needed for predictions if the bundle does not contain the detector, which is
   * then a language model; `manifest.training.experiment.detector` names it.
   */
  readonly judge?: ((posts: readonly PolicyPost[], threadId: string) => Promise<DetectorOutput>) | undefined;
  /**
   * Begins a thread for the student: each call takes the next post and returns the probability of each label. Needed where the policy
   * reads a student that the bundle cannot run, because it has an encoder.
   */
  readonly student?: ((threadId: string) => (post: PolicyPost) => Promise<readonly number[]>) | undefined;
}

/** A rule or a trained policy, loaded from a bundle. */
export interface Policy {
  readonly manifest: Manifest;
  readonly definition: PolicyDefinition;
  readonly sources: PolicySources;
  /** Whether the policy can give predictions. */
  readonly hasDetector: boolean;
  /** Whether predictions cost nothing because the bundle contains its detector. */
  readonly hasFreeDetector: boolean;
  /** Identifies the policy by its files. A new guarantee does not change it. */
  readonly digest: string;
  /** Opens a thread whose posts arrive one after another. */
  open(threadId?: string): OpenThread;
  /** @throws InputError for a thread without posts */
  decide(thread: PolicyThread): Promise<PolicyDecision>;
  /**
   * Decides an ended thread and reads on to its end. Returns a line for `earshot monitor`. Use it for the threads that
   * `isAudited` draws.
   * @param options.opened when the thread opened; now by default
   */
  audit(
    thread: PolicyThread & { readonly id: string },
    options: AuditDraw & { readonly opened?: Date },
  ): Promise<Audit>;
  /** Whether the policy, or the choice of its settings, learned from the thread with this id and claim. */
  isTrainedOn(thread: PolicyThread & { readonly id: string }): Promise<boolean>;
  /** Whether this is a calibration thread of the guarantee, so that an audit of it would show nothing. */
  isCalibratedOn(thread: PolicyThread & { readonly id: string }): Promise<boolean>;
  /** Distance of the claim from the calibration threads or, without a guarantee, from the training threads. */
  outOfDistribution(claim: string): OutOfDistribution | null;
}

/**
 * Loads a bundle and decides its golden threads with it, so that a policy that loads decides as the run did.
 * @param source the address of the folder, or a function that gives the bytes of a file
 * @throws InputError that names a file which is missing or was changed, or the golden thread that is decided differently
 * @example
 * const policy = await loadPolicy(new URL('https://example.org/policy/'));
 * const { postsUsed, why, prediction } = await policy.decide({ posts: [{ text: 'a claim' }, { text: 'a reply' }] });
 */
export async function loadPolicy(source: URL | string | PolicySource): Promise<Policy> {
  const policySource: PolicySource =
    typeof source === 'string' || source instanceof URL ? { read: fetcherOf(source) } : source;
  return policyOf(await openBundle(policySource.read), policySource);
}

/** The policy of a bundle that is open already. @throws as `loadPolicy` does */
export async function policyOf(bundle: Bundle, source: Omit<PolicySource, 'read'>): Promise<Policy> {
  const parts = await partsOf(bundle, source);
  await checkGoldenThreads(await bundle.text(bundleFiles.golden), parts);
  const { manifest } = bundle;
  const { guarantee = null, trainedClaims = null } = manifest;
  const definition = { ...parts.definition, threshold: guarantee?.threshold ?? parts.definition.threshold };
  const { judge } = source;
  const sources: PolicySources =
    judge === undefined
      ? parts.sources
      : { ...parts.sources, openDetector: (threadId) => (posts) => judge(posts, threadId) };
  const hasFreeDetector = judge === undefined && parts.sources.openDetector !== null;
  const region = guarantee?.claims ?? trainedClaims;
  const outOfDistribution = region === null ? () => null : outOfDistributionFrom(region);
  const claimOf = ({ posts: [claim] }: PolicyThread) => postOf(claim).text;
  const trained = await bundle.identities(bundleFiles.trained);
  const isTrainedOn = async (thread: PolicyThread & { readonly id: string }) =>
    trained.has(await claimIdentity({ id: thread.id, claim: claimOf(thread) }));
  const isListed = calibratedOn(guarantee);
  const isCalibratedOn: Policy['isCalibratedOn'] = (thread) => isListed({ id: thread.id, claim: claimOf(thread) });
  const reader = threadReader(definition, sources);
  const digest = await policyDigest(manifest);
  return {
    manifest,
    definition,
    sources,
    hasDetector: sources.openDetector !== null,
    hasFreeDetector,
    digest,
    open: reader.open,
    isTrainedOn,
    outOfDistribution,
    isCalibratedOn,
    async decide(thread) {
      const decided = await reader.decide(thread);
      const { id } = thread;
      const trainedOn = id === undefined ? null : await isTrainedOn({ ...thread, id });
      return { ...decided, outOfDistribution: outOfDistribution(claimOf(thread)), trainedOn };
    },
    async audit(thread, { share, opened = new Date() }) {
      if (sources.openDetector === null)
        throw new InputError('an audit compares predictions, and no detector is at hand; give `judge` to loadPolicy');
      const { postsUsed, prediction } = await reader.decide(thread);
      const whole = { id: thread.id, posts: thread.posts.map(postOf) };
      const stopped = { postsUsed, label: prediction?.label ?? null };
      const audited = await auditedThread({ definition, sources, hasFreeDetector }, whole, stopped);
      return {
        ...openedAudit(thread.id, { digest, definition }, { share, opened }),
        isOutOfDistribution: outOfDistribution(claimOf(thread))?.isFlagged ?? null,
        ...((await isCalibratedOn(thread)) && { isCalibration: true }),
        outcome: { closed: new Date().toISOString(), ...audited },
      };
    },
  };
}

async function partsOf({ manifest, file, json }: Bundle, source: Omit<PolicySource, 'read'>): Promise<LoadedParts> {
  const { state, task, queries, limits, threshold } = manifest;
  const model = async (name: string | null) =>
    name === null ? null : prefixReader(await json(name, bundledModelSchema));
  const network = manifest.weights === null ? null : readWeights(await file(manifest.weights), state);
  const student = await model(manifest.student);
  const detector = await model(manifest.detector);
  const embed = source.embed ?? hashingEncoder(manifest.encoder);
  const dimensions = state.fields.find(({ name }) => name === 'posts')?.count ?? 0;
  const continued = (await embed?.([state.previousActions.continue])) ?? new Float32Array(dimensions);
  const names = state.fields.map(({ name }) => name);
  const posts = { dimensions, pooling: state.pooling, continued };
  const fields = stateFields(names, { labels: task.labels, posts });
  const score: PolicyDefinition['score'] =
    network === null ? (states) => states.slice() : (states) => stopProbabilitiesOf(network, states);
  const readsStudent = names.some((name) => name.startsWith('student'));
  const openedStudent: PolicySources['openStudent'] =
    student &&
    (() => {
      const read = student.open();
      return async (post) => read(post);
    });
  return {
    definition: { task, fields, queries, limits, threshold, score },
    sources: {
      embed,
      openStudent: source.student ?? openedStudent,
      openDetector: detector === null ? null : () => judgeOfThread(detector),
    },
    readsTexts: (dimensions === 0 || embed !== null) && (!readsStudent || (source.student ?? student) !== null),
  };
}

/** Judges growing prefixes of one thread and reads each post once. */
function judgeOfThread(detector: PrefixReader): (posts: readonly PolicyPost[]) => Promise<DetectorOutput> {
  const { labels } = detector;
  const read = detector.open();
  const outputs: DetectorOutput[] = [];
  return async (posts) => {
    for (const post of posts.slice(outputs.length)) {
      const probabilities = read(post);
      outputs.push({
        label: labels[likeliest(probabilities)],
        probabilities: Object.fromEntries(labels.map((label, index) => [label, probabilities[index]])),
      });
    }
    return outputs[posts.length - 1];
  };
}
