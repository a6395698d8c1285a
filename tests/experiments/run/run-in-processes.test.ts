import { expect, it } from 'vitest';
import { runInProcesses } from '../../../experiments/run/run-in-processes.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';

/** Workers that end with these exit codes, and the shares that they were given. */
function workers(codes: readonly number[]) {
  const shares: { index: number; of: number }[] = [];
  const ended = runInProcesses({
    jobs: codes.length,
    child: (share) => {
      shares.push(share);
      return ['--eval', `process.exit(${codes[share.index]})`];
    },
    signal: new AbortController().signal,
  });
  return { shares, ended };
}

it('gives each worker its share', async () => {
  const { shares, ended } = workers([0, 0]);
  await ended;
  expect(shares).toEqual([
    { index: 0, of: 2 },
    { index: 1, of: 2 },
  ]);
});

it('fails as its workers failed: of the input, or of a service', async () => {
  const input = workers([1, 1]).ended;
  await expect(input).rejects.toThrow(InputError);
  await expect(input).rejects.toThrow('2 of 2 worker processes failed; their messages stand above. Run again to go on');
  const service = workers([0, 2]).ended;
  await expect(service).rejects.toThrow(ProviderError);
  await expect(service).rejects.toThrow('1 of 2 worker processes failed');
});

it('asks its workers to end when it is interrupted, and takes that for no failure', async () => {
  const controller = new AbortController();
  const ended = runInProcesses({
    jobs: 2,
    child: () => ['--eval', 'setInterval(() => {}, 1000)'],
    signal: controller.signal,
  });
  controller.abort();
  await ended;
});
