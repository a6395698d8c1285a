import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { makeFolder, writeFileAtomically } from '../../../src/atomic-file.ts';
import { readJsonFile, writeJsonFile } from '../../../src/json-file.ts';
import { keyPrefix } from './connection.ts';
import { relocated } from './files-by-hash.ts';

/*
 * A run directory in Redis, a hash with one field a file. Workers put it there at every checkpoint, so that another machine can
 * go on where one was lost, and at the end, for the sweep to collect.
 */

export interface Parcel {
  /** Names the trial in the queue. */
  readonly job: string;
  readonly directory: string;
  /** Paths of the configuration and where they are here; what lies in Redis has the former. */
  readonly places: ReadonlyMap<string, string>;
}

const parcelKey = (job: string) => `${keyPrefix}:run:${job}`;
/** Iterations that a parcel has come to; `finished` above all. */
const progressField = 'progress';
const finished = Number.MAX_SAFE_INTEGER;

/**
 * Sends what is in a run directory. It may be written to meanwhile: what a resumed run cuts off may be in it.
 * @returns false where a file vanished while it was read, and nothing was sent
 */
export async function sendParcel(redis: Redis, { job, directory, places }: Parcel): Promise<boolean> {
  const progress = progressOf(directory);
  if (progress === null) return false;
  const fields: [string, Buffer][] = [];
  try {
    for (const name of filesOf(directory)) {
      const content = readFileSync(join(directory, name));
      fields.push([name, await promisify(gzip)(isConfig(name) ? reversed(content, places) : content)]);
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
  const parcel = redis.multi().del(parcelKey(job)).hset(parcelKey(job), progressField, String(progress));
  for (const [name, content] of fields) parcel.hset(parcelKey(job), `file:${name}`, content);
  await parcel.exec();
  return true;
}

/**
 * Replaces a run directory by what lies in Redis, if that is further on.
 * @returns whether the directory now has what Redis has
 */
export async function fetchParcel(redis: Redis, { job, directory, places }: Parcel): Promise<boolean> {
  const progress = Number((await redis.hget(parcelKey(job), progressField)) ?? Number.NaN);
  if (Number.isNaN(progress) || progress < (progressOf(directory) ?? -1)) return false;
  const fields = await redis.hgetallBuffer(parcelKey(job));
  const incoming = join(dirname(directory), `.${job}.incoming`);
  rmSync(incoming, { recursive: true, force: true });
  makeFolder(join(incoming, 'checkpoints'));
  for (const [field, packed] of Object.entries(fields)) {
    if (!field.startsWith('file:')) continue;
    const name = field.slice('file:'.length);
    if (!/^([\w-][\w.-]*\/)*[\w-][\w.-]*$/.test(name))
      throw new Error(`the parcel of ${job} holds ${JSON.stringify(name)}, which is no file of a run`);
    const path = join(incoming, name);
    writeFileAtomically(path, await promisify(gunzip)(packed));
    if (isConfig(name) && places.size > 0) writeJsonFile(path, relocated(readJsonFile(path, z.unknown()), places));
  }
  rmSync(directory, { recursive: true, force: true });
  renameSync(incoming, directory);
  return true;
}

export async function dropParcel(redis: Redis, job: string): Promise<void> {
  await redis.del(parcelKey(job));
}

/** Null where there is no run yet. */
export function progressOf(directory: string): number | null {
  if (!existsSync(join(directory, 'config.json'))) return null;
  const run = RunDirectory.open(directory);
  return run.isFinished() ? finished : (run.latestCheckpoint()?.step ?? 0);
}

/**
 * The files of a run, its policy and the runs of its folds included. Checkpoints come first: what is appended to while they are read is
 * then at least as long as they need.
 */
function filesOf(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.tmp'))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
  const isCheckpoint = (name: string) => basename(dirname(name)) === 'checkpoints';
  return [...names.filter(isCheckpoint), ...names.filter((name) => !isCheckpoint(name))];
}

/** Of the run, or of one of its folds. */
function isConfig(name: string): boolean {
  return basename(name) === 'config.json';
}

function reversed(config: Buffer, places: ReadonlyMap<string, string>): Buffer {
  const back = new Map(Array.from(places, ([path, place]) => [place, path]));
  const parsed: unknown = JSON.parse(config.toString('utf8'));
  return Buffer.from(`${JSON.stringify(relocated(parsed, back), null, 2)}\n`);
}
