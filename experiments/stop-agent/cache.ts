import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { loadStudent, type Student, saveStudent, trainStudent } from '../../experts/detectors/local/student.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { sha256 } from '../../src/content-hash.ts';
import { identityOf } from '../../src/data/task.ts';
import { createEncoder } from '../../src/text/create-encoder.ts';
import { EmbeddingStore } from '../../src/text/embedding-store.ts';
import { type DetectorCache, openDetectorCache } from '../judging/cached-detector.ts';
import type { Experiment } from './experiment.ts';

/** Where runs keep the work that they share: embeddings, judgements, trained detectors, each under a key of its inputs. */
export interface Cache extends DetectorCache {
  /** Of the agent's encoder. */
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly students: string;
}

export async function openCache(directory: string, experiment: Experiment): Promise<Cache> {
  const embeddings = join(directory, 'embeddings');
  const encoder = await createEncoder(experiment.encoder);
  makeFolder(join(directory, 'students'));
  return {
    ...openDetectorCache(directory),
    embeddings: await EmbeddingStore.open({ encoder, directory: embeddings }),
    annotations: AnnotationStore.open(join(directory, 'annotations.sqlite')),
    students: join(directory, 'students'),
  };
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
  const key = sha256({ options, fitting, targets, seed, judged, task: identityOf(task) }).slice(0, 32);
  const path = join(cache.students, `${key}.json`);
  const encoder = await cache.encoderOf(options.encoder);
  if (existsSync(path)) return loadStudent({ path, encoder });
  const student = await trainStudent({ ...settings, encoder });
  saveStudent(path, student);
  return student;
}
