import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { trainLocalDetector } from '../../../experts/detectors/local/train-local-detector.ts';
import { taskIn } from '../../../src/data/classes-of-labels.ts';
import { loadThreads } from '../../../src/data/thread-file.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';

/** Trains a local detector on a thread file and saves it, both in a folder. */
export async function saveDetector(cwd: string, of: { threads: string; path: string; task?: string }): Promise<void> {
  const file = join(cwd, of.threads);
  const threads = await loadThreads(file, {});
  await selectBackend('auto');
  const detector = await trainLocalDetector({ threads, task: taskIn(threads, { name: of.task, path: file }), seed: 1 });
  const path = join(cwd, of.path);
  mkdirSync(dirname(path), { recursive: true });
  detector.save(path);
}
