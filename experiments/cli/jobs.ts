import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Option } from '@commander-js/extra-typings';
import type { Terminal } from './terminal.ts';

/** The command of a further process, which answers the lines of its standard input. */
export const answerLinesOption = new Option('--answer-lines').hideHelp();

/** The words of such a process. */
export function answeringWords({ words }: Pick<Terminal, 'words'>): string[] {
  return [...words, answerLinesOption.long ?? ''];
}

/**
 * The number of processes: `jobs`, or one per core with enough work for each.
 * @param path the file to work on; null for standard input
 * @param options.bytesEach bytes that take longer than the start of a process
 */
export function jobsFor(path: string | null, { jobs, bytesEach }: { jobs?: number; bytesEach: number }): number {
  if (jobs !== undefined) return jobs;
  const bytes = path === null ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return Math.max(1, Math.min(availableParallelism(), Math.floor(bytes / bytesEach)));
}
