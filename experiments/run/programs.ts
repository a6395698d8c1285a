import { availableParallelism } from 'node:os';
import type { z } from 'zod';
import { type BackendChoice, type backendSchema, selectBackend } from '../../src/tensor/backend.ts';

/** What `backend` in an experiment may say. */
export type RequestedBackend = z.infer<typeof backendSchema>;

export interface Programs {
  /** Programs that run at the same time. */
  readonly jobs: number;
  /** Trials of one shape that each of them trains together, at most. */
  readonly batchedRuns: number;
}

/**
 * How trials are divided into programs where the user does not say. What pays was measured (docs/explanation/benchmarks.md): a process a core.
 * On wasm, where batched runs cost, each trains one trial; with TensorFlow on the processor, whose calls cost more, up to eight
 * together, and on onnx up to four of imitation, for more are no faster. On a GPU an iteration takes about as long for one run as
 * for a hundred, so a process trains up to 128 together; up to four share the GPU.
 * @param options.trials all of them, finished or not: a command that is given again divides them as before
 * @param options.backend null where trials cannot be trained together
 */
export async function choosePrograms(options: {
  trials: number;
  backend: RequestedBackend | null;
  gainsOnOnnx: boolean;
  asksModels: boolean;
  jobs: number | undefined;
  batchedRuns: number | undefined;
  /** Starts a backend, and says what it runs on. */
  start?: (backend: RequestedBackend) => Promise<Pick<BackendChoice, 'name' | 'device'>>;
}): Promise<Programs> {
  const { trials, gainsOnOnnx, asksModels } = options;
  const { name, isGpu } = await deviceOf(options);
  const ofGpu = Math.min(programsOfGpu, Math.ceil(trials / runsOfGpu));
  const most = options.jobs ?? (asksModels ? 1 : isGpu ? ofGpu : availableParallelism());
  const pays = isGpu ? runsOfGpu : name === 'tensorflow' ? 8 : name === 'onnx' && gainsOnOnnx ? 4 : 1;
  const batchedRuns = options.batchedRuns ?? batchSize(trials, { processes: most, most: pays });
  return { jobs: Math.min(most, Math.ceil(trials / batchedRuns)), batchedRuns };
}

/** Runs that a program trains together on a GPU, and programs that share one: docs/how-to/gpu.md. */
const runsOfGpu = 128;
const programsOfGpu = 4;

/** Of equal batches, as few as give every process about the same work. */
function batchSize(trials: number, { processes, most }: { processes: number; most: number }): number {
  const longest = 1.1 * Math.ceil(trials / processes);
  /** Trials that the process with most of them trains, where batches are given out in turn and the last is what is left. */
  const mostOfProcess = (size: number) => {
    const full = Math.floor(trials / size);
    return Math.ceil(full / processes) * size + (full % processes === 0 ? trials % size : 0);
  };
  let batches = Math.ceil(trials / most);
  while (mostOfProcess(Math.ceil(trials / batches)) > longest) batches++;
  return Math.ceil(trials / batches);
}

/** The backend that trials will get; it is started only where that decides something. */
async function deviceOf(options: Parameters<typeof choosePrograms>[0]) {
  const { backend, jobs, batchedRuns, start = selectBackend } = options;
  const isKnown = backend === null || backend === 'wasm' || backend === 'cpu';
  if (isKnown || (jobs !== undefined && batchedRuns !== undefined)) return { name: null, isGpu: false };
  const { name, device } = await start(backend);
  return { name, isGpu: device.includes('GPU') };
}
