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
const onGpu = found('tensorflow', 'TensorFlow 2.20.0 on a GPU');
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
    ['with TensorFlow on the processor', onProcessor, false],
    ['with ONNX Runtime, where trials gain from it', onOnnx, true],
  ])('is eight at a time %s, or fewer, so that each core has its share', async (_, device, gainsOnOnnx) => {
    const auto = { ...asked, ...device, gainsOnOnnx, backend: 'auto', jobs: 2 } as const;
    expect(await choosePrograms(auto)).toEqual({ jobs: 2, batchedRuns: 8 });
    expect(await choosePrograms({ ...auto, trials: 20 })).toEqual({ jobs: 2, batchedRuns: 5 });
    expect(await choosePrograms({ ...auto, trials: 6 })).toEqual({ jobs: 2, batchedRuns: 3 });
    expect(await choosePrograms({ ...auto, trials: 1, jobs: 4 })).toEqual({ jobs: 1, batchedRuns: 1 });
  });

  it('is one large program on a GPU', async () => {
    const auto = { ...asked, ...onGpu, backend: 'auto' } as const;
    expect(await choosePrograms(auto)).toEqual({ jobs: 1, batchedRuns: 23 });
    expect(await choosePrograms({ ...auto, trials: 5 })).toEqual({ jobs: 1, batchedRuns: 5 });
  });

  it('is what the user says', async () => {
    const said = { ...asked, ...never, backend: 'auto', jobs: 3, batchedRuns: 4 } as const;
    expect(await choosePrograms(said)).toEqual({ jobs: 3, batchedRuns: 4 });
    expect(await choosePrograms({ ...said, trials: 5 })).toEqual({ jobs: 2, batchedRuns: 4 });
  });
});
