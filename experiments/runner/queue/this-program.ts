import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** `.ts` in a checkout, `.js` in the package. */
const extension = extname(fileURLToPath(import.meta.url));
const rooms = ['checkpoints', 'envs', 'experiments', 'experts', 'src', 'trainers'];

/**
 * Names the program that runs here by its version and its sources: a checkout and the package built from it differ, though
 * they come to the same results.
 */
export function thisProgram(): string {
  hash ??= `${packageJson.version} (sources ${hashOfSources().slice(0, 12)})`;
  return hash;
}

let hash: string | null = null;

function hashOfSources(): string {
  const hash = createHash('sha256');
  const paths = rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((path) => extname(path) === extension)
      .map((path) => join(room, path)),
  );
  for (const path of paths.sort()) hash.update(path).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}
