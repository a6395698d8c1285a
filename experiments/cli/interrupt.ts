/**
 * Aborts at the first Ctrl-C or SIGTERM, so that a command can save and stop. A second signal of the same kind ends the
 * process at once. It must be the same kind because a worker gets two signals for one Ctrl-C: SIGINT from the terminal
 * and SIGTERM from its parent.
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
