import { availableParallelism } from 'node:os';
import type { z } from 'zod';
import { type BackendChoice, type backendSchema, selectBackend } from '../../src/tensor/backend.ts';

/** The values of `backend` in an experiment. */
export type RequestedBackend = z.infer<typeof backendSchema>;

/**
 * How many processes share the trials: as many as the user says, otherwise one per core. One process has a GPU for itself, one makes a
 * single program of all trials on xla, and one queries language models, whose limits of rates hold for a process.
 * @param options.backend null where no trial uses tensors
 */
export async function processesFor(options: {
  trials: number;
  backend: RequestedBackend | null;
  asksModels: boolean;
  jobs: number | undefined;
  /** Starts a backend, and says what it runs on. */
  start?: (backend: RequestedBackend) => Promise<Pick<BackendChoice, 'name' | 'device'>>;
}): Promise<number> {
  const { trials, asksModels, jobs } = options;
  const most = jobs ?? (asksModels || (await isShared(options)) ? 1 : availableParallelism());
  return Math.max(1, Math.min(most, trials));
}

/** Whether one process should have the device. A backend is started only where its name does not tell. */
async function isShared({ backend, start = selectBackend }: Parameters<typeof processesFor>[0]): Promise<boolean> {
  if (backend === null || backend === 'onnx' || backend === 'wasm' || backend === 'cpu') return false;
  const { name, device } = await start(backend);
  return name === 'xla' || device.includes('GPU');
}
