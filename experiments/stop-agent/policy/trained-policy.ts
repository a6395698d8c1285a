import { join } from 'node:path';
import { unicodeThreads } from '../../../checkpoints/policy/golden-inputs.ts';
import { policyNetwork } from '../../../checkpoints/policy/network.ts';
import type { ClaimRegion } from '../../../checkpoints/policy/out-of-distribution.ts';
import type { PolicyDefinition } from '../../../checkpoints/policy/policy.ts';
import { judgePostsBy, wholePost } from '../../../checkpoints/policy/policy-post.ts';
import { readsField } from '../../../checkpoints/policy/state-fields.ts';
import { writeBundle } from '../../../checkpoints/policy/write-bundle.ts';
import { fittedModelSchema, LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import type { Thread } from '../../../src/data/thread.ts';
import type { StopPolicy } from '../../../trainers/stop-agent/policy.ts';
import { agentName } from '../decisions.ts';
import { guaranteeFile, thresholdOf } from '../operating-point.ts';
import { identitiesOf } from '../parts.ts';
import type { BegunTrial, PolicyPlace, PreparedTrial } from '../prepare.ts';
import { readTrialResult, type StoredResult } from '../result.ts';
import { judgedThread, type ReadThread } from '../scored-thread.ts';
import { learntPolicy, seenPosts } from '../states.ts';
import { policyFolderName } from './policy-folder.ts';
import { type BundledModel, bundleOf } from './write-policy.ts';

/* The end of a training: the agent that a trial has trained and tested becomes a bundle. */

/**
 * Writes the agent of a trial as a bundle. An earlier one in its place goes.
 * @param trained.region of the training claims
 */
export async function writeTrainedPolicy(
  trial: BegunTrial,
  { agent, result, region }: { agent: StopPolicy; result: StoredResult; region: ClaimRegion },
): Promise<void> {
  const { experiment, seed, prepared, run } = trial;
  const { materials, detector, hashes } = prepared;
  const { student } = materials;
  const { policy: place = placeOf(trial, result) } = trial;
  if (place === null) return;
  const network = policyNetwork(agent);
  const definition = await learntPolicy(network, { ...materials, threshold: thresholdOf(run) });
  const local = detector instanceof LocalDetector ? detector : null;
  const contents = await bundleOf({
    system: agentName,
    definition,
    network,
    encoder: readsField(definition.fields, 'posts') ? materials.cache.embeddings.encoderIdentity : null,
    detector: local && bundledModel(local),
    student: student && bundledModel(student.reader),
    guarantee: guaranteeFile.find(run),
    trainedClaims: region,
    experiment,
    training: { seed, step: run.trainedCheckpoint().step, hashes: { ...hashes } },
    identities: identitiesOf(run),
    golden: await goldenThreads(place.threads, { prepared, definition, local }),
    result: place.result(),
  });
  writeBundle(place.folder, contents, { force: true });
}

function placeOf({ run, prepared }: BegunTrial, result: StoredResult): PolicyPlace {
  return {
    folder: join(run.path, policyFolderName),
    threads: prepared.parts[result.part],
    result: () => readTrialResult(run, { withIntervals: 'agent' }, result),
  };
}

function bundledModel({ model }: LocalDetector): BundledModel {
  const text = `${JSON.stringify(fittedModelSchema.parse(model), null, 1)}\n`;
  return { text, isSelfContained: model.encoder === null };
}

/** Enough threads and posts to notice a difference, few enough to decide at every start. */
const [goldenThreadsAtMost, goldenPosts] = [16, 20];

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
  const { fields, queries } = definition;
  const first = threads.slice(0, goldenThreadsAtMost).map(({ posts, ...thread }): Thread => {
    return { ...thread, posts: [posts[0], ...posts.slice(1, goldenPosts)] };
  });
  const odd = queries.lengths.length > 0 && local === null ? [] : unicodeThreads.map(threadOfTexts);
  const judge = local && judgePostsBy(local);
  // A reader has no other student than this one.
  const student = materials.student && { ...materials.student, heldOut: new Map() };
  const golden: ReadThread[] = [];
  for (const thread of [...first, ...odd]) {
    const sequence =
      judge === null
        ? sequences.get(thread.id)
        : await judgedThread(thread, { definition, judge: (posts) => judge(posts, thread.id) });
    golden.push({ thread, inputs: await seenPosts(thread, { ...materials, student, sequence, fields }) });
  }
  return golden;
}

function threadOfTexts({ id, texts }: { id: string; texts: readonly string[] }): Thread {
  const [claim, ...replies] = texts.map((text, index) => wholePost({ id: `${id}:${index + 1}`, text }, index));
  return { id, event: null, veracity: null, rumor: null, posts: [claim, ...replies] };
}
