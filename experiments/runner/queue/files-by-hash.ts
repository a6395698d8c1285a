import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { Redis } from 'ioredis';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { hashOfFile } from '../../../src/content-hash.ts';
import { InputError } from '../../../src/errors.ts';
import { isPlainObject } from '../../config/overrides.ts';
import { keyPrefix } from './connection.ts';
import type { TrialJob } from './trial-job.ts';

/** Larger files are not put into Redis, which keeps everything in memory. */
const bytesAtMost = 64 * 2 ** 20;

const blobKey = (hash: string) => `${keyPrefix}:file:${hash}`;

/** Puts the files that trials read where workers can fetch them, unless they are there or too large. */
export async function offerFiles(redis: Redis, files: TrialJob['files']): Promise<void> {
  for (const { path, sha256: hash } of files) {
    if (statSync(path).size > bytesAtMost || (await redis.exists(blobKey(hash))) === 1) continue;
    await redis.set(blobKey(hash), await promisify(gzip)(readFileSync(path)));
  }
}

/**
 * Where each file is on this machine, by its path in the configuration: there, where it has the right hash, else in the cache,
 * where it is fetched to.
 * @throws InputError for a file that is neither here nor in the queue
 */
export async function locateFiles(
  redis: Redis,
  { files, cache }: { files: TrialJob['files']; cache: string },
): Promise<Map<string, string>> {
  const places = new Map<string, string>();
  for (const { path, sha256: hash } of files) {
    const fetched = join(cache, 'files', hash, basename(path));
    if (existsSync(path) && (await hashOfFile(path)) === hash) {
      places.set(path, path);
      continue;
    }
    if (!existsSync(fetched)) {
      const packed = await redis.getBuffer(blobKey(hash));
      if (packed === null)
        throw new InputError(
          `the worker on ${hostname()} lacks ${path} (SHA-256 ${hash}), and it is too large for the queue to hold; copy it there, to the same path`,
        );
      const content = await promisify(gunzip)(packed);
      if (createHash('sha256').update(content).digest('hex') !== hash)
        throw new InputError(`what the queue holds as ${path} is not what its name says; start the sweep again`);
      writeFileAtomically(fetched, content);
    }
    places.set(path, fetched);
  }
  return places;
}

/** A configuration with every path replaced by its place. */
export function relocated(value: unknown, places: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return places.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => relocated(item, places));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, relocated(item, places)]));
}
