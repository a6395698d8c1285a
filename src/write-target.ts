import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** What a write to a path reaches. */
export interface WriteTarget {
  /** The path behind all symbolic links; there need not be anything yet. */
  readonly path: string;
  /** A device, a pipe or a socket: it is written to, where a rename would put a file in its place. */
  readonly isSpecial: boolean;
}

/** Follows symbolic links, also those that lead to nothing yet. */
export function writeTarget(path: string): WriteTarget {
  // Asked of the system, which alone knows what /dev/stdout leads to.
  const reached = statSync(path, { throwIfNoEntry: false });
  if (reached !== undefined && !reached.isFile() && !reached.isDirectory()) return { path, isSpecial: true };
  let target = path;
  for (let links = 0; links < mostLinks; links++) {
    const stats = lstatSync(target, { throwIfNoEntry: false });
    if (!stats?.isSymbolicLink()) return { path: target, isSpecial: false };
    target = resolve(dirname(target), readlinkSync(target));
  }
  // Opening it will say what is wrong.
  return { path: target, isSpecial: false };
}

/** As many as Linux follows. */
const mostLinks = 40;
