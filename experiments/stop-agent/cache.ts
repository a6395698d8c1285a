import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Detector } from '../../experts/detector.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { loadStudent, type Student, saveStudent, trainStudent } from '../../experts/detectors/local/student.ts';
import { type LocalDetectorOptions, trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { createEncoder, type EncoderConfig } from '../../src/text/create-encoder.ts';
import { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { storedEncoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { Experiment } from './experiment.ts';

/** Where runs keep the work that they share: embeddings, judgements, trained detectors, each under a key of its inputs. */
export interface Cache {
  /** Of the agent's encoder. */
  readonly embeddings: EmbeddingStore;
  /**
   * The encoder of a detector or a student that is slow and cannot be made from its identity alone: a transformer, whose vectors
   * are stored. Undefined for none, and for the hashing encoder, which a detector makes by itself.
   */
  readonly encoderOf: (config: EncoderConfig | null) => Promise<Encoder | undefined>;
  readonly annotations: AnnotationStore;
  readonly detectors: string;
  readonly students: string;
  readonly projections: string;
}

export async function openCache(directory: string, experiment: Experiment): Promise<Cache> {
  const embeddings = join(directory, 'embeddings');
  const encoder = await createEncoder(experiment.encoder);
  const encoders = storedEncoders({ directory: embeddings });
  for (const kind of ['detectors', 'students', 'projections']) makeFolder(join(directory, kind));
  return {
    embeddings: await EmbeddingStore.open({ encoder, directory: embeddings }),
    encoderOf: async (config) => (config === null || config.name === 'hashing' ? undefined : encoders(config)),
    annotations: AnnotationStore.open(join(directory, 'annotations.sqlite')),
    detectors: join(directory, 'detectors'),
    students: join(directory, 'students'),
    projections: join(directory, 'projections'),
  };
}

/** The local detector for these options, threads and seed: from the cache, or trained and put there. */
export async function cachedDetector(
  settings: {
    options: LocalDetectorOptions;
    task: Task;
    seed: number;
    cache: Cache;
    context: WorkContext;
  },
  threads: readonly Thread[],
): Promise<Detector> {
  const { options, task, seed, cache, context } = settings;
  const path = join(cache.detectors, `${sha256({ options, seed, threads, task: task.name }).slice(0, 32)}.json`);
  const encoder = await cache.encoderOf(options.encoder);
  if (existsSync(path)) return LocalDetector.load({ path, encoder });
  const detector = await trainLocalDetector({
    threads,
    task,
    options,
    seed,
    encoder,
    onProgress: ({ done, total }) => context.onProgress('training the detector', done, total),
    signal: context.signal,
  });
  detector.save(path);
  return detector;
}

/** The student of these judgements for these options and seed: from the cache, or trained and put there. */
export async function cachedStudent(
  cache: Cache,
  settings: Omit<Parameters<typeof trainStudent>[0], 'encoder'>,
): Promise<Student> {
  const { demonstrations, further, options, fitting, targets, seed, task } = settings;
  const said = ({ predicted, probabilities }: JudgementSequence) =>
    targets === 'labels' ? [...predicted] : [[...predicted], Array.from(probabilities, String)];
  const judged = [demonstrations, further].map((threads) =>
    threads.map(({ thread, sequence }) => [thread.id, thread.posts.map(({ text }) => text), said(sequence)]),
  );
  const key = sha256({ options, fitting, targets, seed, judged, task: task.name }).slice(0, 32);
  const path = join(cache.students, `${key}.json`);
  const encoder = await cache.encoderOf(options.encoder);
  if (existsSync(path)) return loadStudent({ path, encoder });
  const student = await trainStudent({ ...settings, encoder });
  saveStudent(path, student);
  return student;
}

/**
 * A local model that a run saved.
 * @param options.name file in the run's folder
 * @throws InputError when the file is damaged, or its encoder is not the one that the experiment names
 */
export async function localModelOfRun(
  directory: string,
  options: { name: 'detector.json' | 'student.json'; encoder: EncoderConfig | null; cache: Cache },
): Promise<LocalDetector> {
  const { name, encoder, cache } = options;
  return LocalDetector.load({ path: join(directory, name), encoder: await cache.encoderOf(encoder) });
}
