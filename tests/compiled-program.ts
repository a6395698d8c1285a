import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import type { TestProject } from 'vitest/node';

/*
 * The sources, and what the tests have beside their tests, as JavaScript: made once for all tests that start a process of its own.
 * One that loads the sources as they are takes half as much again. Types are checked by `npm run check`.
 */

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder that holds the program as a checkout does. */
    readonly compiledProgram: string;
  }
}

const home = join(import.meta.dirname, '..');
const folders = ['src', 'envs', 'trainers', 'experts', 'checkpoints', 'experiments'];

export default function provideProgram(project: TestProject): () => void {
  const program = mkdtempSync(join(tmpdir(), 'earshot-program-'));
  compileTo(program);
  symlinkSync(join(home, 'node_modules'), join(program, 'node_modules'));
  // In watch mode.
  project.onTestsRerun(async () => compileTo(program));
  project.provide('compiledProgram', program);
  return () => rmSync(program, { recursive: true, force: true });
}

function compileTo(program: string): void {
  for (const folder of folders)
    cpSync(join(home, folder), join(program, folder), { recursive: true, filter: (path) => !path.endsWith('.ts') });
  cpSync(join(home, 'package.json'), join(program, 'package.json'));
  const sources = [...folders, 'tests'].flatMap((folder) => filesBelow(join(home, folder), '.ts'));
  const entryPoints = sources.filter((path) => !path.endsWith('.test.ts'));
  buildSync({ entryPoints, outdir: program, outbase: home, format: 'esm', target: 'esnext' });
  for (const name of [...folders, 'tests'].flatMap((folder) => filesBelow(join(program, folder), '.js'))) {
    const code = readFileSync(name, 'utf8');
    writeFileSync(name, code.replace(/\b((?:from|import) ?\(?"\.[^"]*)\.ts"/g, '$1.js"'));
  }
}

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name));
}
