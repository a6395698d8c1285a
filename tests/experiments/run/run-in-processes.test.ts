import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runInProcesses } from '../../../experiments/run/run-in-processes.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

/** Runs one process for each of these programs and gives back what it throws. */
async function failureOf(...programs: string[]): Promise<unknown> {
  const files = Object.fromEntries(programs.map((program, index) => [`${index}.mjs`, program]));
  const folder = temporaryFolder(files);
  return runInProcesses({
    jobs: programs.length,
    worker: ({ index }) => [join(folder, `${index}.mjs`)],
    signal: new AbortController().signal,
    stderr: new PassThrough(),
  }).then(
    () => null,
    (error: unknown) => error,
  );
}

const failing = (severity: number, message: string) =>
  `process.send({ say: 'failed', severity: ${severity}, message: ${JSON.stringify(message)} }); process.exitCode = ${severity};`;

describe('runs in several processes', () => {
  it('end well when all end well', async () => {
    expect(await failureOf('', '')).toBe(null);
  });

  it('end as the worst failure does: a defect before a provider before wrong input', async () => {
    const defect = await failureOf(
      failing(1, 'no such file'),
      failing(3, 'TypeError: x\n    at y'),
      failing(2, 'busy'),
    );
    expect(defect).toBeInstanceOf(Error);
    expect(defect).not.toBeInstanceOf(InputError);
    expect(defect).not.toBeInstanceOf(ProviderError);
    expect(defect).toHaveProperty(
      'stack',
      'no such file\nTypeError: x\n    at y\nbusy\n3 of 3 worker processes failed. Run again to go on',
    );
    expect(await failureOf(failing(2, 'busy'), failing(1, 'no such file'))).toBeInstanceOf(ProviderError);
  });

  it('tell what failed alike once', async () => {
    const wrong = await failureOf(failing(1, 'no such file'), failing(1, 'no such file'), '');
    expect(wrong).toBeInstanceOf(InputError);
    expect(wrong).toHaveProperty('message', 'no such file\n2 of 3 worker processes failed. Run again to go on');
    const common = await failureOf(failing(1, 'no such file'), failing(1, 'no such file'));
    expect(common).toHaveProperty('message', 'no such file');
  });

  it('give each worker its share, and pass on what it says', async () => {
    const stderr = new PassThrough();
    await runInProcesses({
      jobs: 2,
      worker: ({ index, of }) => ['--eval', `console.error('share ${index} of ${of}')`],
      signal: new AbortController().signal,
      stderr,
    });
    expect(String(stderr.read()).split('\n').sort()).toEqual(['', 'share 0 of 2', 'share 1 of 2']);
  });

  it('end when they are interrupted, which is no failure', async () => {
    const controller = new AbortController();
    const ended = runInProcesses({
      jobs: 2,
      worker: () => ['--eval', 'setInterval(() => {}, 1000)'],
      signal: controller.signal,
      stderr: new PassThrough(),
    });
    controller.abort();
    await ended;
  });

  it('keep the exit code of a worker that could not tell, and name what ended it from outside', async () => {
    const silent = await failureOf('process.exitCode = 3');
    expect(silent).not.toBeInstanceOf(InputError);
    expect(silent).toHaveProperty('message', expect.stringContaining('exit code 3'));
    expect(await failureOf("process.kill(process.pid, 'SIGKILL')")).toHaveProperty(
      'message',
      expect.stringMatching(/ended by SIGKILL; if memory ran out, give fewer --jobs/),
    );
  });
});
