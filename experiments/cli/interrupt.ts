/**
 * Aborts at the first Ctrl-C or SIGTERM, so that a command can save and stop; the second ends the process at once.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(130);
      process.stderr.write('\nearshot: saving and stopping; press Ctrl-C again to stop at once\n');
      controller.abort();
    });
  return controller.signal;
}
