import { availableParallelism } from 'node:os';
import { describe, expect, it } from 'vitest';
import { choosePrograms } from '../../../experiments/run/programs.ts';
import type { BackendName } from '../../../src/tensor/backend-names.ts';

const cores = availableParallelism();
const asked = { trials: 45, gainsOnOnnx: false, asksModels: false, jobs: undefined, batchedRuns: undefined };

/** A backend that is found on this device. */
const found = (name: BackendName, device: string) => ({ start: async () => ({ name, device }) });
const onWasm = found('wasm', 'processor, one thread');
const onProcessor = found('tensorflow', 'TensorFlow 2.20.0 on the processor');
const onOnnx = found('onnx', 'ONNX Runtime 1.21.0, one thread of a processor x64 with avx2');
const onGpu = found('webgpu', 'ONNX Runtime 1.30.0, GPU NVIDIA H100');
const never = { start: () => Promise.reject(new Error('nothing has to be started')) };

describe('how trials are divided into programs', () => {
  it('is a process a core on wasm, for which nothing is started, and with ONNX Runtime where trials gain nothing', async () => {
    const each = { jobs: Math.min(cores, 45), batchedRuns: 1 };
    expect(await choosePrograms({ ...asked, ...never, backend: 'wasm' })).toEqual(each);
    expect(await choosePrograms({ ...asked, ...never, backend: null, asksModels: true })).toEqual({ ...each, jobs: 1 });
    expect(await choosePrograms({ ...asked, ...onWasm, backend: 'auto' })).toEqual(each);
    expect(await choosePrograms({ ...asked, ...onOnnx, backend: 'auto' })).toEqual(each);
  });

  it.each([
    // 24 trials in the one process and 21 in the other.
    ['eight', 'with TensorFlow on the processor', onProcessor, false, 45, 8],
    ['eight', 'with TensorFlow on the processor', onProcessor, false, 20, 5],
    ['eight', 'with TensorFlow on the processor', onProcessor, false, 6, 3],
    ['eight', 'with TensorFlow on the processor', onProcessor, false, 1, 1],
    ['four', 'with ONNX Runtime, where trials gain from it', onOnnx, true, 45, 4],
    // Five batches of four would be 12 trials and 8.
    ['four', 'with ONNX Runtime, where trials gain from it', onOnnx, true, 20, 3],
    ['four', 'with ONNX Runtime, where trials gain from it', onOnnx, true, 9, 2],
    ['four', 'with ONNX Runtime, where trials gain from it', onOnnx, true, 7, 4],
  ])('is %s at a time %s, or fewer, so that each core has its share', async (...row) => {
    const [, , device, gainsOnOnnx, trials, batchedRuns] = row;
    const auto = { ...asked, ...device, gainsOnOnnx, trials, backend: 'auto', jobs: 2 } as const;
    expect(await choosePrograms(auto)).toEqual({ jobs: Math.min(2, trials), batchedRuns });
  });

  it('is a large program on a GPU, and up to four where there are more trials than one program takes', async () => {
    const auto = { ...asked, ...onGpu, backend: 'webgpu' } as const;
    expect(await choosePrograms(auto)).toEqual({ jobs: 1, batchedRuns: 45 });
    expect(await choosePrograms({ ...auto, trials: 200 })).toEqual({ jobs: 2, batchedRuns: 100 });
    expect(await choosePrograms({ ...auto, trials: 1000 })).toEqual({ jobs: 4, batchedRuns: 125 });
  });

  it('is what the user says', async () => {
    const said = { ...asked, ...never, backend: 'auto', jobs: 3, batchedRuns: 4 } as const;
    expect(await choosePrograms(said)).toEqual({ jobs: 3, batchedRuns: 4 });
    expect(await choosePrograms({ ...said, trials: 5 })).toEqual({ jobs: 2, batchedRuns: 4 });
  });
});
