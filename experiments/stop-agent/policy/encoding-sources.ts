import * as z from 'zod/mini';
import type { PolicySource } from '../../../checkpoints/policy/load-policy.ts';
import { type Bundle, bundleFiles, type Manifest } from '../../../checkpoints/policy/manifest.ts';
import type { PolicyPost } from '../../../checkpoints/policy/policy-post.ts';
import { judgePostsBy, wholePost } from '../../../checkpoints/policy/policy-post.ts';
import type { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { canonicalJson } from '../../../src/content-hash.ts';
import type { Post } from '../../../src/data/thread.ts';
import { entryOf } from '../../../src/entry-of.ts';
import { InputError } from '../../../src/errors.ts';
import { createEncoder, encoderSchema } from '../../../src/text/create-encoder.ts';

/**
 * Makes the encoder of posts, and the detector and the student of a bundle if they have an encoder.
 * @throws InputError where an encoder cannot be made as it was at the training
 */
export async function encodingSources(bundle: Bundle): Promise<Pick<PolicySource, 'embed' | 'judge' | 'student'>> {
  const detector = await modelWithEncoder(bundle, 'detector');
  const student = await modelWithEncoder(bundle, 'student');
  return {
    embed: await embedderOf(bundle.manifest),
    judge: detector === null ? undefined : judgePostsBy(detector),
    student: student === null ? undefined : (threadId) => studentReader(student, threadId),
  };
}

/** The encoder of posts, which the bundle does not hold; undefined where none is needed. */
async function embedderOf({ encoder: identity, training }: Manifest): Promise<PolicySource['embed']> {
  if (identity === null || identity.name === 'hashing') return undefined;
  const encoder = await createEncoder(encoderSchema.parse(training.experiment.encoder));
  if (canonicalJson(encoder.identity) !== canonicalJson(identity))
    throw new InputError(
      `the bundle was made with the encoder ${JSON.stringify(identity)}, and this is ${JSON.stringify(encoder.identity)}; use the same model files`,
    );
  return (texts) => encoder.encode(texts);
}

const encodersOf = z.object({
  detector: z.object({ encoder: z.optional(z.unknown()) }),
  state: z.object({ studentOptions: z.object({ encoder: z.optional(z.unknown()) }) }),
});

/** A detector or student that readers of a bundle cannot run, because it has an encoder; null where there is none. */
async function modelWithEncoder(
  { manifest, json }: Bundle,
  name: 'detector' | 'student',
): Promise<LocalDetector | null> {
  const file = bundleFiles[name];
  if (manifest[name] !== null || manifest.files[file] === undefined) return null;
  const { LocalDetector, fittedModelSchema } = await import('../../../experts/detectors/local/local-detector.ts');
  const model = await json(file, fittedModelSchema);
  const { detector, state } = encodersOf.parse(manifest.training.experiment);
  const { encoder } = name === 'detector' ? detector : state.studentOptions;
  const config = encoderSchema.safeParse(encoder);
  return LocalDetector.open(model, {
    path: file,
    encoder: config.success ? await createEncoder(config.data) : undefined,
  });
}

function studentReader(student: LocalDetector, threadId: string): (post: PolicyPost) => Promise<number[]> {
  const posts: Post[] = [];
  return async (post) => {
    posts.push(wholePost(post, posts.length));
    const { probabilities } = await student.judge({ threadId, posts });
    return student.labels.map((label) => entryOf(probabilities ?? {}, label) ?? 1 / student.labels.length);
  };
}
