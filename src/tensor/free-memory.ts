import { execFileSync } from 'node:child_process';
import { freemem } from 'node:os';
import type { BackendChoice } from './backend.ts';

/** A WebAssembly memory has 32-bit addresses, of which code and buffers of the backend take some. */
const wasmBytes = 3 * 2 ** 30;

/** Bytes that tensors may still take: of the GPU where the backend uses one, else of the machine. */
export function freeTensorBytes({ name, device }: BackendChoice): number {
  if (name === 'wasm') return Math.min(wasmBytes, freemem());
  return (device.includes('GPU') ? gpuBytes() : null) ?? freemem();
}

/** Free memory of the first NVIDIA GPU; null where its driver does not say. */
function gpuBytes(): number | null {
  try {
    const query = ['--query-gpu=memory.free', '--format=csv,noheader,nounits'];
    const [mebibytes] = execFileSync('nvidia-smi', query, { encoding: 'utf8' }).split('\n').map(Number);
    return mebibytes > 0 ? mebibytes * 2 ** 20 : null;
  } catch {
    return null;
  }
}
