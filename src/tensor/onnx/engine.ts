import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import type { Tensor } from 'onnxruntime-node';
import type { Binding } from 'onnxruntime-node/dist/binding.js';

/*
 * ONNX Runtime as the npm package `onnxruntime-node` brings it. Its class InferenceSession puts a timer in front of a call that
 * blocks anyway; the binding below it, of the version that package.json pins, is called without one. So nothing waits in a queue:
 * a graph has run when the call returns, and arrays may change after.
 */

/** What a tensor's numbers are held in: 32-bit floats and integers, and truth values as bytes. */
export type Numbers = Float32Array | Int32Array | Uint8Array;

/** A tensor's numbers with their shape. */
export interface Shaped {
  readonly shape: readonly number[];
  readonly array: Numbers;
}

/** A graph that is ready to run. */
export interface Session {
  /** Both by name. The outputs' arrays are filled; none of them may be an input's. */
  run(inputs: ReadonlyMap<string, Shaped>, outputs: ReadonlyMap<string, Shaped>): void;
  dispose(): void;
}

/** Makes a session of the bytes of an ONNX file. */
export type Engine = (file: Uint8Array) => Session;

/**
 * One thread: two are no faster on graphs of this size, spin while they wait, and may round otherwise, so that a run would
 * depend on the machine's cores.
 */
const sessionOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  graphOptimizationLevel: 'all',
  logSeverityLevel: 3,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
} as const;

/** What runs the graphs: the processor, or a GPU of any maker by Vulkan, Metal or Direct3D 12. */
export type Provider = 'cpu' | 'webgpu';

/**
 * Loads the native library.
 * @throws an error where the package has none for this machine, or the first graph shows that there is no adapter
 */
export async function loadEngine(provider: Provider): Promise<{ engine: Engine; device: string }> {
  const { binding, initOrt } = await import('onnxruntime-node/dist/binding.js');
  initOrt();
  const engine = (file: Uint8Array): Session => {
    const session: Binding.InferenceSession = new binding.InferenceSession();
    // A copy, for the binding reads the whole buffer that a small array may be a part of.
    const { buffer } = file.slice();
    session.loadModel(buffer, 0, buffer.byteLength, { ...sessionOptions, executionProviders: [provider] });
    return {
      run: (inputs, outputs) => void session.run(tensorsOf(inputs), tensorsOf(outputs), {}),
      dispose: () => session.dispose(),
    };
  };
  const device = provider === 'cpu' ? `one thread of ${processor()}` : 'a GPU by WebGPU';
  return { engine, device: `ONNX Runtime ${version()}, ${device}` };
}

/**
 * The four properties that the binding reads. The class Tensor checks them, which takes a twentieth of the time of small graphs; shapes
 * and types are our own here.
 */
function tensorsOf(values: ReadonlyMap<string, Shaped>): Record<string, Tensor> {
  const tensors: Record<string, object> = {};
  for (const [name, { shape, array }] of values)
    tensors[name] = { type: typeOf(array), dims: shape, data: array, location: 'cpu' };
  return tensors as Record<string, Tensor>;
}

function typeOf(array: Numbers): 'float32' | 'int32' | 'bool' {
  if (array instanceof Float32Array) return 'float32';
  return array instanceof Int32Array ? 'int32' : 'bool';
}

function version(): string {
  const { version }: { version: string } = createRequire(import.meta.url)('onnxruntime-node/package.json');
  return version;
}

/** The widest registers that the matrix products may use: with them, the rounding of a product changes. */
function processor(): string {
  const model = `a processor ${process.arch}`;
  try {
    const flags = readFileSync('/proc/cpuinfo', 'utf8');
    const widest = ['avx512f', 'avx2', 'avx', 'sve', 'asimd'].find((flag) => new RegExp(`\\b${flag}\\b`).test(flags));
    return widest === undefined ? model : `${model} with ${widest}`;
  } catch {
    return `${model}, ${cpus()[0]?.model ?? 'of an unknown model'}`;
  }
}
