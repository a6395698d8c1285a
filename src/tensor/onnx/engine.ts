import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import type { Tensor } from 'onnxruntime-node';
import type { Binding } from 'onnxruntime-node/dist/binding.js';
import {
  countIn,
  type Engine,
  newTraffic,
  type Output,
  type Resident,
  type Session,
  type Shaped,
} from '../graph/engine.ts';
import { type Graph, kindOfNumbers, numbersOfKind, sizeOf } from '../graph/graph.ts';
import { onnxGraph } from './onnx-graph.ts';

/*
 * ONNX Runtime as the npm package `onnxruntime-node` brings it. Its class InferenceSession puts a timer in front of a call that
 * blocks anyway; the binding below it, of the version that package.json pins, is called without one. So nothing waits in a queue:
 * a graph has run when the call returns, and arrays may change after.
 */

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

/** Where each graph writes how long its nodes took when it is disposed of, a file with this beginning: for benchmarks. */
const profileFilePrefix = process.env.EARSHOT_ONNX_PROFILE;
const profiling = profileFilePrefix === undefined ? {} : { enableProfiling: true, profileFilePrefix };

/**
 * Loads the native library.
 * @throws an error where the package has none for this machine
 */
export async function loadEngine(): Promise<{ engine: Engine; device: string }> {
  const { binding, initOrt } = await import('onnxruntime-node/dist/binding.js');
  initOrt();
  const traffic = newTraffic();
  const session = (graph: Graph): Session => {
    const session: Binding.InferenceSession = new binding.InferenceSession();
    // A copy, for the binding reads the whole buffer that a small array may be a part of.
    const { buffer } = onnxGraph(graph).slice();
    session.loadModel(buffer, 0, buffer.byteLength, { ...sessionOptions, ...profiling, executionProviders: ['cpu'] });
    return {
      run: (calls) =>
        calls.map(({ inputs, outputs }) => {
          traffic.runs++;
          for (const input of inputs.values()) if ('array' in input) countIn(traffic, input.array);
          for (const output of outputs.values()) {
            output.array ??= new numbersOfKind[output.kind](sizeOf(output.shape));
            traffic.bytesOut += output.array.byteLength;
          }
          discard(session.run(tensorsOf(inputs), tensorsOf(outputs), {}));
          return new Map();
        }),
      dispose() {
        if (profileFilePrefix !== undefined) session.endProfiling();
        session.dispose();
      },
    };
  };
  const device = `ONNX Runtime ${version()}, one thread of ${processor()}`;
  return { engine: { session, memory: null, traffic, gathers: false, scans: true }, device };
}

/**
 * The properties that the binding reads. The class Tensor checks them, which takes a twentieth of the time of small graphs; shapes
 * and types are our own here.
 */
function tensorsOf(values: ReadonlyMap<string, Shaped | Resident | Output>): Record<string, Tensor> {
  const tensors: Record<string, object> = {};
  for (const [name, value] of values) {
    if (!('array' in value) || value.array === null) throw new Error('a tensor of a device was given to ONNX Runtime');
    tensors[name] = { type: kindOfNumbers(value.array), dims: value.shape, data: value.array, location: 'cpu' };
  }
  return tensors as Record<string, Tensor>;
}

/** A transfer to a closed port frees an array at once. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Frees the copies that the binding returns of the outputs, which are in our arrays already. V8 counts them until it collects garbage,
 * and would look for it every fifty iterations of a training or more often.
 */
function discard(copies: Readonly<Record<string, object>>): void {
  const buffers = Object.values(copies).map((copy) => Reflect.get(Reflect.get(copy, 'data'), 'buffer'));
  nowhere.postMessage(null, buffers);
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
