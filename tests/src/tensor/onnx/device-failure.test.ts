import { expect, it } from 'vitest';
import { deviceFailure } from '../../../../src/tensor/onnx/device-failure.ts';

it('tells a lost device from one with too little memory, and says what to do', () => {
  expect(deviceFailure('/onnxruntime_src/core/buffer_manager.cc:544 void Download() Device is lost.\n\nstack')).toBe(
    'the GPU failed during a run (void Download() Device is lost.). Give the same command again: it resumes from the last checkpoint. If it fails again, use --set backend=onnx.',
  );
  expect(deviceFailure('Buffer size (4294967296) exceeds the max buffer size limit (1073741824).')).toMatch(
    /^the GPU has too little memory \(Buffer size .*Use --set backend=onnx/,
  );
  expect(deviceFailure('numbers_storage_buffers_ <= limits_.maxStorageBuffersPerShaderStage was false.')).toMatch(
    /^the GPU failed during a run/,
  );
});
