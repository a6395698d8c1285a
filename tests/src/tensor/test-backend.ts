import { z } from 'zod';
import { type BackendName, backendNames } from '../../../src/tensor/backend-names.ts';

/*
 * EARSHOT_TEST_BACKEND names a backend that the tests of tensors and trainers run on instead of the usual one;
 * tests/interop/ does.
 */

const asked = z.enum(backendNames).optional().parse(process.env.EARSHOT_TEST_BACKEND);

export function testBackend(usual: BackendName = 'wasm'): BackendName {
  return asked ?? usual;
}

/** For what must hold on several at once. */
export const testBackends: readonly BackendName[] = asked === undefined ? ['cpu', 'wasm', 'onnx'] : [asked];

/** Every trainer runs on these. */
export const trainerBackends: readonly BackendName[] = asked === undefined ? ['wasm', 'onnx'] : [asked];
