import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { InputError } from '../../src/errors.ts';

const openers: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/**
 * Opens a file with the program that the system has for it.
 * @throws InputError where there is none
 */
export async function openFile(path: string): Promise<void> {
  const [program, ...words] = openers[process.platform] ?? ['xdg-open'];
  await new Promise<void>((done, failed) => {
    const child = spawn(program, [...words, resolve(path)], { stdio: 'ignore', detached: true });
    child.on('error', () =>
      failed(new InputError(`${program}, which opens files here, cannot be run; open ${path} yourself`)),
    );
    child.on('spawn', () => {
      child.unref();
      done();
    });
  });
}
