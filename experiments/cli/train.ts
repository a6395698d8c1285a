import type { Terminal } from './terminal.ts';
import { trainOptions } from './train-options.ts';

export function trainCommand(terminal: Terminal) {
  return trainOptions().action(async (path, options) => {
    const { train } = await import('./train-experiment.ts');
    await train({ ...options, path, terminal });
  });
}
