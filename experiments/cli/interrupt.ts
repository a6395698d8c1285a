/**
 * Aborts at the first Ctrl-C or SIGTERM, so that a command can save and stop; a second one of the same kind ends the
 * process at once. Of the same kind, because a terminal sends Ctrl-C to workers too, to whom it is passed on as SIGTERM.
 */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  const received = new Set<string>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (received.has(signal)) process.exit(130);
      received.add(signal);
      if (controller.signal.aborted) return;
      process.stderr.write('\nearshot: saving and stopping; press Ctrl-C again to stop at once\n');
      controller.abort();
    });
  return controller.signal;
}
