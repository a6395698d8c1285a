import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Detector } from '../../experts/detector.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import {
  type LocalDetectorOptions,
  localTrainingVersion,
  trainLocalDetector,
} from '../../experts/detectors/local/train-local-detector.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { sha256 } from '../../src/content-hash.ts';
import { identityOf, type Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { EncoderConfig } from '../../src/text/create-encoder.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { storedEncoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';

/** The shared detectors of runs, under a hash of their training data and options. */
export interface DetectorCache {
  /** The stored encoder of a transformer. Undefined for none and for the hashing encoder, which a detector makes itself. */
  readonly encoderOf: (config: EncoderConfig | null) => Promise<Encoder | undefined>;
  readonly detectors: string;
}

/** @param directory the cache of all runs */
export function openDetectorCache(directory: string): DetectorCache {
  const encoders = storedEncoders({ directory: join(directory, 'embeddings') });
  const detectors = join(directory, 'detectors');
  makeFolder(detectors);
  return {
    encoderOf: async (config) => (config === null || config.name === 'hashing' ? undefined : encoders(config)),
    detectors,
  };
}

export function trainedDetector(
  options: Omit<Parameters<typeof trainLocalDetector>[0], 'onProgress' | 'signal'> & {
    context: WorkContext;
  },
): Promise<LocalDetector> {
  const { context, ...settings } = options;
  const onProgress = ({ done, total }: { done: number; total: number }) =>
    context.onProgress('training the detector', done, total);
  return trainLocalDetector({ ...settings, onProgress, signal: context.signal });
}

/** The local detector for these options, threads and seed, from the cache or trained now. */
export async function cachedDetector(
  settings: {
    options: LocalDetectorOptions;
    task: Task;
    seed: number;
    cache: DetectorCache;
    context: WorkContext;
  },
  threads: readonly Thread[],
): Promise<Detector> {
  const { options, task, seed, cache, context } = settings;
  const key = sha256({ training: localTrainingVersion, options, seed, threads, task: identityOf(task) });
  const path = join(cache.detectors, `${key.slice(0, 32)}.json`);
  const encoder = await cache.encoderOf(options.encoder);
  if (existsSync(path)) return LocalDetector.load({ path, encoder });
  const detector = await trainedDetector({ threads, task, options, seed, encoder, context });
  detector.save(path);
  return detector;
}
