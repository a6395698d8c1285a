import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
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
  /** The outputs asked for, by name; new arrays. */
  run(inputs: ReadonlyMap<string, Shaped>, outputs: readonly string[]): ReadonlyMap<string, Numbers>;
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

/**
 * Loads the native library.
 * @throws an error where the package has none for this machine
 */
export async function loadEngine(): Promise<{ engine: Engine; device: string }> {
  const { binding, initOrt } = await import('onnxruntime-node/dist/binding.js');
  const { Tensor } = await import('onnxruntime-node');
  initOrt();
  const tensorOf = ({ array, shape }: Shaped) => {
    if (array instanceof Float32Array) return new Tensor('float32', array, shape);
    return array instanceof Int32Array ? new Tensor('int32', array, shape) : new Tensor('bool', array, shape);
  };
  const engine = (file: Uint8Array): Session => {
    const session: Binding.InferenceSession = new binding.InferenceSession();
    // A copy, for the binding reads the whole buffer that a small array may be a part of.
    const { buffer } = file.slice();
    session.loadModel(buffer, 0, buffer.byteLength, sessionOptions);
    return {
      run(inputs, outputs) {
        const feeds = Object.fromEntries(Array.from(inputs, ([name, value]) => [name, tensorOf(value)]));
        const fetches = Object.fromEntries(outputs.map((name) => [name, null]));
        const results = session.run(feeds, fetches, {});
        return new Map(outputs.map((name) => [name, numbersOf(results[name].data)]));
      },
      dispose: () => session.dispose(),
    };
  };
  return { engine, device: `ONNX Runtime ${version()}, one thread of ${processor()}` };
}

function numbersOf(data: unknown): Numbers {
  if (data instanceof Float32Array || data instanceof Int32Array || data instanceof Uint8Array) return data;
  throw new Error('ONNX Runtime returned a tensor of a type that tfjs does not know');
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
