import { floatsFromBase64 } from '../../src/base64-floats.ts';
import { InputError } from '../../src/errors.ts';
import { likeliest } from '../../src/likeliest.ts';
import { type ClaimShift, claimShift } from './claim-shift.ts';
import {
  actedUpon,
  type DetectorOutput,
  decideDetectorAware,
  outputWhenQueried,
  recordedOutputs,
  type Verdict,
  verdictOfOutput,
} from './detector-aware-agent.ts';
import { asBytes, fetchedFrom } from './fetched-from.ts';
import { checkGolden, firstStop, goldenSchema, untilStop } from './golden.ts';
import { bundleFiles, checkDigest, type Manifest, parseBundleJson, readManifest } from './manifest.ts';
import { stopProbabilitiesOf } from './network.ts';
import { type PolicyPost, postsOf } from './policy-posts.ts';
import { bundledModelSchema, type PrefixReader, prefixReader } from './prefix-reader.ts';
import { stopThreshold } from './promise.ts';
import { readWeights } from './read-weights.ts';
import { stateMaker } from './state-maker.ts';

/*
 * `earshot/policy`: loads a bundle and decides, in Node and in browsers. No tensors, no files, no other package than the
 * schemas, so that it stays small.
 */

export type { ClaimShift } from './claim-shift.ts';
export type { DetectorOutput, Verdict } from './detector-aware-agent.ts';
export type { Manifest } from './manifest.ts';
export type { PolicyPost } from './policy-posts.ts';

export interface PolicySource {
  /**
   * The bytes of a file of the bundle, by its name. In Node:
   * `(name) => readFile(join(folder, name))`.
   */
  readonly read: (name: string) => Promise<Uint8Array | ArrayBuffer>;
  /**
   * Row-major [texts, dimensions]. Needed where the bundle's encoder is a transformer, which is not part of the bundle;
   * `manifest.encoder` names it.
   */
  readonly embed?: ((texts: readonly string[]) => Promise<Float32Array>) | undefined;
  /**
   * The detector: what it says of these posts. Needed where the agent observes its detector and the bundle does
   * not hold the detector, which is then a language model; `manifest.training.experiment.detector` names it.
   */
  readonly judge?: ((posts: PolicyThread['posts']) => Promise<DetectorOutput>) | undefined;
}

/** A thread, as far as a policy reads it: the claim, then the replies in time order. */
export interface PolicyThread {
  readonly posts: readonly PolicyPost[];
}

export interface PolicyDecision {
  /** 0-based step of the stop; the last post where the policy never stops. */
  readonly stopStep: number;
  /** False where the thread ended before the policy stopped: with further posts the decision may change. */
  readonly stopped: boolean;
  /**
   * π(stop) at every post, given that the agent has continued so far; [posts]. A detector-aware agent
   * has them up to the stop only, and 0 where it does not act.
   */
  readonly stopProbability: Float32Array;
  /** What the detector says of the posts seen at the stop; null where there is none. */
  readonly verdict: Verdict | null;
  /** How often the detector was asked. */
  readonly calls: number;
  /** How unlike the threads of the promise this one is, or without a promise those that were trained on; null where neither is known. */
  readonly shift: ClaimShift | null;
}

/** A thread that is read as it grows. */
export interface GrowingThread {
  /**
   * Reads the next posts; each costs the same, however many came before it. One call at a time.
   * @param outputs what the detector said of the thread's prefixes up to these posts, at the places where it was queried, [posts so
   *   far]. For a detector-aware agent whose bundle does not hold the detector; otherwise that is queried
   * @param posts texts alone do, too
   * @returns π(stop) at each of them, given that the agent has continued so far; [posts]
   * @throws InputError where the bundle does not read texts, a time is none, or the agent observes its detector and there are no outputs
   */
  read(
    posts: readonly (string | PolicyPost)[],
    outputs?: readonly (DetectorOutput | undefined)[],
  ): Promise<Float32Array>;
}

export interface Policy {
  readonly manifest: Manifest;
  /** Begins a thread whose posts come one after another. `manifest.rule` says when it stops. */
  open(): GrowingThread;
  /**
   * What the bundle's detector says of a prefix; null where the bundle holds none.
   * @param posts the claim first; texts alone do, too
   */
  judge(posts: readonly (string | PolicyPost)[]): Verdict | null;
  /** The same of a thread with this claim. */
  shift(claim: string): ClaimShift | null;
  /** @throws InputError for a thread without posts */
  decide(thread: PolicyThread): Promise<PolicyDecision>;
  /** π(stop) in states made elsewhere, row-major [rows, manifest.state.columns], as `manifest.state` defines them. */
  stopProbabilities(states: Float32Array): Float32Array;
}

/**
 * Loads a bundle and decides its golden threads with it, so that a policy that loads decides as the checkpoint did.
 * @param source the address of the folder, or a function that gives the bytes of a file
 * @throws InputError that names a file which is missing or was changed, or the golden thread that is decided differently
 * @example
 * const policy = await loadPolicy(new URL('https://example.org/policy/'));
 * const { stopStep, verdict } = await policy.decide({ posts: [{ text: 'a claim' }, { text: 'a reply' }] });
 */
export async function loadPolicy(source: URL | string | PolicySource): Promise<Policy> {
  const { read, embed, judge }: PolicySource =
    typeof source === 'string' || source instanceof URL ? { read: fetchedFrom(source) } : source;
  const bytesOf = async (name: string) => asBytes(await read(name), name);
  const manifest = await readManifest(new TextDecoder().decode(await bytesOf(bundleFiles.manifest)));
  const checked = async (name: string) => {
    const bytes = await bytesOf(name);
    await checkDigest(bytes, { name, sha256: manifest.files[name] });
    return bytes;
  };
  const checkedText = async (name: string) => new TextDecoder().decode(await checked(name));
  const network = readWeights(await checked(bundleFiles.weights), manifest);
  const reader = async (name: string | null) =>
    name === null ? null : prefixReader(parseBundleJson(await checkedText(name), { name, schema: bundledModelSchema }));
  const student = await reader(manifest.student);
  const detector = await reader(manifest.detector);
  const needsStudent = manifest.state.fields.some(({ name }) => name === 'student') && student === null;
  const readsTexts = manifest.readsTexts || (embed !== undefined && !needsStudent);
  const queryPlan = manifest.state.queryPlan ?? null;
  const openStates = stateMaker(manifest, { embed, student });
  const own = () => (detector === null ? undefined : judgeOfThread(detector));
  const promised = manifest.promise ?? null;
  const region = promised?.shift ?? manifest.trainedClaims ?? null;
  const shiftOf = region === null ? () => null : claimShift(region);
  const decide = async (
    posts: PolicyThread['posts'],
    judgeOf: PolicySource['judge'],
    threshold = stopThreshold(promised),
  ): Promise<PolicyDecision> => {
    const shift = shiftOf(posts[0].text);
    const thread = policy.open();
    if (queryPlan !== null) {
      if (judgeOf === undefined) throw new InputError(needsJudge);
      const known: number[] = [];
      const { said, ...decision } = await decideDetectorAware(posts, {
        queryPlan,
        threshold,
        judge: judgeOf,
        async probabilities(outputs) {
          // What is said later changes nothing about the posts before.
          known.push(...(await thread.read(posts.slice(known.length, outputs.length), outputs)));
          return Float32Array.from(known);
        },
      });
      return { ...decision, verdict: verdictOfOutput(said), shift };
    }
    const stopProbability = await thread.read(posts);
    const { stopStep, stopped } = firstStop(stopProbability, threshold);
    const said = judgeOf === undefined ? null : await judgeOf(posts.slice(0, stopStep + 1));
    const verdict = said && verdictOfOutput(said);
    return { stopStep, stopped, stopProbability, verdict, calls: Number(said !== null), shift };
  };
  const policy: Policy = {
    manifest,
    open() {
      const statesOf = openStates();
      const ownOutput =
        queryPlan !== null && detector !== null ? outputWhenQueried(readingOf(detector), queryPlan) : () => undefined;
      const said: (DetectorOutput | undefined)[] = [];
      return {
        async read(given, outputs) {
          const posts = postsOf(given);
          if (queryPlan !== null && outputs === undefined && detector === null) throw new InputError(needsJudge);
          const before = said.length;
          for (const post of posts) said.push(outputs === undefined ? ownOutput(post) : undefined);
          if (readsTexts) {
            const states = await statesOf(posts, outputs ?? said);
            return actedUpon(stopProbabilitiesOf(network, states), queryPlan, before);
          }
          throw new InputError(
            `this bundle's states need ${needsStudent ? 'a student whose encoder is' : `the encoder ${JSON.stringify(manifest.encoder)}, which is`} not part of it; ${needsStudent ? '' : 'give `embed`, or '}make the states yourself and call stopProbabilities`,
          );
        },
      };
    },
    shift: shiftOf,
    judge: (posts) => (detector === null ? null : (postsOf(posts).map(readingOf(detector)).at(-1) ?? null)),
    async decide(thread) {
      const posts = postsOf(thread?.posts);
      if (posts.length === 0) throw new InputError('a thread needs at least one post, the claim');
      return decide(posts.slice(0, manifest.state.maxPosts), judge ?? own());
    },
    stopProbabilities(states) {
      if (states.length % network.inputs !== 0)
        throw new InputError(
          `the policy reads states of ${network.inputs} numbers, and ${states.length} numbers are no multiple of that`,
        );
      return stopProbabilitiesOf(network, states);
    },
  };
  for (const line of (await checkedText(bundleFiles.golden)).split('\n')) {
    if (line === '') continue;
    const thread = parseBundleJson(line, { name: bundleFiles.golden, schema: goldenSchema });
    checkGolden(thread, actedUpon(policy.stopProbabilities(floatsFromBase64(thread.states)), queryPlan));
    if (!readsTexts) continue;
    const posts = thread.texts.map((text, index) => ({ text, time: thread.times?.[index] }));
    // Decided as at the export, when nothing was promised.
    const judgeOf = own() ?? recordedOutputs(thread, manifest.task.labels);
    const { stopProbability } = await decide(posts, judgeOf, stopThreshold(null));
    checkGolden(queryPlan !== null ? untilStop(thread) : thread, stopProbability);
  }
  return policy;
}

/** Judges prefixes of one thread that grow: no post is read twice. */
function judgeOfThread(detector: PrefixReader): NonNullable<PolicySource['judge']> {
  const read = readingOf(detector);
  const said: Verdict[] = [];
  return async (posts) => {
    for (const post of posts.slice(said.length)) said.push(read(post));
    return said[posts.length - 1];
  };
}

/** Reads the posts of a thread one by one. */
function readingOf({ labels, open }: PrefixReader): (post: PolicyPost) => Verdict {
  const read = open();
  return (post) => {
    const probabilities = read(post);
    return {
      label: labels[likeliest(probabilities)],
      probabilities: Object.fromEntries(labels.map((label, index) => [label, probabilities[index]])),
    };
  };
}

const needsJudge = "this bundle's agent observes its detector, and the detector is not part of it; give `judge`";
