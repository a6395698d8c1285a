import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

/** A C++ compiler and Python's venv, installed where they are missing and root may install Debian packages. */
export async function ensureCompiler(): Promise<void> {
  if (process.getuid?.() !== 0 || spawnSync('c++', ['--version']).status === 0) return;
  await promisify(execFile)('apt-get', ['update']);
  await promisify(execFile)('apt-get', ['install', '--yes', 'g++', 'python3-venv'], { maxBuffer: 1e8 });
}
