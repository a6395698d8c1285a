import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The files of this name at most three levels below a folder: that of a run, a seed, a trial. */
export function markedFiles(folder: string, name: string, levels = 3): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return levels === 0 ? [] : markedFiles(path, name, levels - 1);
    return basename(path) === name ? [path] : [];
  });
}
