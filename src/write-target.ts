import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The target of a write to a path. */
export interface WriteTarget {
  /** The path behind all symbolic links; it need not exist. */
  readonly path: string;
  /** Whether it is a device, a pipe or a socket, which a rename would replace by a file. */
  readonly isSpecial: boolean;
}

/** Follows symbolic links, also those to missing files. */
export function writeTarget(path: string): WriteTarget {
  // Only the system can resolve /dev/stdout.
  const reached = statSync(path, { throwIfNoEntry: false });
  if (reached !== undefined && !reached.isFile() && !reached.isDirectory()) return { path, isSpecial: true };
  let target = path;
  for (let links = 0; links < mostLinks; links++) {
    const stats = lstatSync(target, { throwIfNoEntry: false });
    if (!stats?.isSymbolicLink()) return { path: target, isSpecial: false };
    target = resolve(dirname(target), readlinkSync(target));
  }
  // Opening the path will report the problem.
  return { path: target, isSpecial: false };
}

/** As many as Linux follows. */
const mostLinks = 40;
