import { spawn } from 'node:child_process';
import { InputError, ProviderError } from '../../src/errors.ts';

/** Runs the trials in several processes, each of which takes every `jobs`-th; the command line of a child is `child`. */
export async function runInProcesses(options: {
  jobs: number;
  child: (share: { index: number; of: number }) => readonly string[];
  signal: AbortSignal;
}): Promise<void> {
  const { jobs, child, signal } = options;
  const codes = await Promise.all(
    Array.from({ length: jobs }, (_, index) => {
      const process_ = spawn(process.execPath, child({ index, of: jobs }), { stdio: ['ignore', 'ignore', 'inherit'] });
      // Not SIGINT: the terminal sends that to the worker as well, and the second would cut its saving short.
      const stop = () => process_.kill('SIGTERM');
      signal.addEventListener('abort', stop, { once: true });
      return new Promise<number>((resolve) => process_.on('exit', (code) => resolve(code ?? 1)));
    }),
  );
  const failed = codes.filter((code) => code !== 0);
  if (signal.aborted || failed.length === 0) return;
  const message = `${failed.length} of ${jobs} worker processes failed; their messages stand above. Run again to go on`;
  throw failed.every((code) => code === 2) ? new ProviderError(message) : new InputError(message);
}
