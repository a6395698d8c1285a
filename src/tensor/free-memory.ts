import { freemem } from 'node:os';
import type { BackendChoice } from './backend.ts';
import { askDriver } from './nvidia-gpu.ts';

/** A WebAssembly memory has 32-bit addresses, of which code and buffers of the backend take some. */
const wasmBytes = 3 * 2 ** 30;

/** Bytes that tensors may still take: of the GPU where the backend uses one, else of the machine. */
export function freeTensorBytes({ name, device }: BackendChoice): number {
  if (name === 'wasm') return Math.min(wasmBytes, freemem());
  return (device.includes('GPU') ? gpuBytes() : null) ?? freemem();
}

/** Free memory of the first NVIDIA GPU; null where its driver does not say. */
function gpuBytes(): number | null {
  const mebibytes = Number(askDriver('memory.free') ?? 0);
  return mebibytes > 0 ? mebibytes * 2 ** 20 : null;
}
