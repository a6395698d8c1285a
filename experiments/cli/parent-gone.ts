import { fstatSync } from 'node:fs';
import type { Terminal } from './terminal.ts';

/** How often the parent is looked for. */
const pollMs = 500;

/**
 * Calls `onGone` when the parent process has ended or the pipe at standard input is closed. A shell between the two may
 * outlive the parent. A terminal or /dev/null at standard input does not count.
 * @returns a function that ends the watch
 */
export function watchParent({ stdin }: Pick<Terminal, 'stdin'>, onGone: () => void): () => void {
  const { ppid } = process;
  // A process that has lost its parent gets another one.
  const timer = setInterval(() => {
    if (process.ppid !== ppid) onGone();
  }, pollMs).unref();
  const input = fstatSync(0);
  const isPipe = input.isFIFO() || input.isSocket();
  if (isPipe) stdin.once('close', onGone).once('end', onGone).once('error', onGone).resume();
  return () => {
    clearInterval(timer);
    if (isPipe) stdin.off('close', onGone).off('end', onGone).off('error', onGone).destroy();
  };
}
