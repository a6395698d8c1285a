import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { sha256 } from '../../src/content-hash.ts';
import { type Outcome, outputOf } from '../child-output.ts';

/** What bundles are read with. */
const readingBundles = join(import.meta.dirname, 'requirements.txt');

/**
 * A Python with the packages of a requirements file, in a cache folder of the user. It is made at the first call, and again
 * when the requirements change.
 */
export function interopPython(requirements: string = readingBundles): string {
  const cache = process.env.EARSHOT_INTEROP_CACHE ?? join(homedir(), '.cache/earshot/interop');
  const folder = join(cache, sha256(readFileSync(requirements, 'utf8')).slice(0, 16));
  const python = join(folder, 'bin/python');
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return python;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  succeed('python3', ['-m', 'venv', folder]);
  succeed(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
  writeFileSync(ready, '');
  return python;
}

function succeed(program: string, words: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, words, { encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(
    `${program} ${words.join(' ')} failed (${error?.message ?? `exit code ${status}`}); the interop tests need Python 3.10 or later and a package registry.\n${stderr}`,
  );
}

/** Runs Python with these words and this standard input. */
export function runPython(
  words: readonly string[],
  {
    stdin = '',
    requirements,
    env = { PYTHONUTF8: '1' },
  }: { stdin?: string | Buffer; requirements?: string; env?: Record<string, string> } = {},
): Promise<Outcome> {
  const child = spawn(interopPython(requirements), words, { env: { ...process.env, ...env } });
  child.stdin.on('error', () => {}).end(stdin);
  return outputOf(child).outcome;
}
