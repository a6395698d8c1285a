import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { processesFor } from '../../../experiments/run/trial-pool.ts';
import type { BackendName } from '../../../src/tensor/backend-names.ts';

const cores = availableParallelism();
const asked = { trials: 45, asksModels: false, jobs: undefined };

/** A backend that is found on this device. */
const on = (device: string, name: BackendName = 'onnx') => ({ start: async () => ({ name, device }) });
const onProcessor = on('ONNX Runtime 1.30.0, one thread of a processor x64 with avx2');
const onGpu = on('TensorFlow 2.20.0 on a GPU', 'tensorflow');
const onTpu = on('TPU v6 lite', 'xla');
const never = { start: () => Promise.reject(new Error('nothing has to be started')) };

describe('how many processes share the trials', () => {
  it('is one per core, and no more than there are trials', async () => {
    for (const backend of ['onnx', 'wasm', 'cpu', null] as const)
      expect(await processesFor({ ...asked, ...never, backend })).toBe(Math.min(cores, 45));
    expect(await processesFor({ ...asked, ...onProcessor, backend: 'auto' })).toBe(Math.min(cores, 45));
    expect(await processesFor({ ...asked, ...never, backend: 'wasm', trials: 1 })).toBe(1);
  });

  it('is one on a GPU, on xla and with language models', async () => {
    expect(await processesFor({ ...asked, ...onGpu, backend: 'tensorflow' })).toBe(1);
    expect(await processesFor({ ...asked, ...onGpu, backend: 'auto' })).toBe(1);
    expect(await processesFor({ ...asked, ...onTpu, backend: 'auto' })).toBe(1);
    expect(await processesFor({ ...asked, ...never, backend: 'auto', asksModels: true })).toBe(1);
  });

  it('is what the user says', async () => {
    const three = { ...asked, ...never, backend: 'auto', jobs: 3 } as const;
    expect(await processesFor(three)).toBe(3);
    expect(await processesFor({ ...three, asksModels: true })).toBe(3);
    expect(await processesFor({ ...three, trials: 2 })).toBe(2);
  });
});
