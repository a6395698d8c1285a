import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type StopPromise, stopPromiseSchema } from '../../checkpoints/bundle/promise.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';

/** `promise.json`: what `earshot calibrate` found for the agent of a run. */
const pathOf = (run: Pick<RunDirectory, 'path'>) => join(run.path, 'promise.json');

/** Null where nothing is promised. @throws InputError for a file that is damaged */
export function promiseOfRun(run: Pick<RunDirectory, 'path'>): StopPromise | null {
  return existsSync(pathOf(run)) ? readJsonFile(pathOf(run), stopPromiseSchema) : null;
}

export function savePromise(run: RunDirectory, promise: StopPromise): void {
  writeJsonFile(pathOf(run), promise);
}
