import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import type { Tensor } from 'onnxruntime-node';
import type { Binding } from 'onnxruntime-node/dist/binding.js';
import { ProviderError } from '../../errors.ts';
import {
  count,
  type DeviceMemory,
  type Engine,
  newTraffic,
  type Resident,
  type Roles,
  type Session,
  type Shaped,
} from '../engine.ts';
import type { Graph, Numbers } from '../graph.ts';
import { deviceFailure } from './device-failure.ts';
import { float, int32, onnxFile } from './onnx-file.ts';
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
  // Verbose logs say which nodes of a graph fall back to the processor.
  logSeverityLevel: process.env.EARSHOT_ONNX_LOG === 'verbose' ? 0 : 3,
  extra: { session: { intra_op: { allow_spinning: '0' } } },
} as const;

/** Where each graph writes how long its nodes took when it is disposed of, a file with this beginning: for benchmarks. */
const profileFilePrefix = process.env.EARSHOT_ONNX_PROFILE;
const profiling = profileFilePrefix === undefined ? {} : { enableProfiling: true, profileFilePrefix };

/** What runs the graphs: the processor, or a GPU of any maker by Vulkan, Metal or Direct3D 12. */
export type Provider = 'cpu' | 'webgpu';

/**
 * Loads the native library. A session runs in the call that starts it, so two sessions never run at once, which would crash the
 * WebGPU provider.
 * @throws an error where the package has none for this machine, or there is no adapter
 */
export async function loadEngine(provider: Provider): Promise<{ engine: Engine; device: string }> {
  const { binding, initOrt } = await import('onnxruntime-node/dist/binding.js');
  initOrt();
  const traffic = newTraffic();
  const session = (file: Uint8Array, staying: readonly string[] = []): Session => {
    const own: Binding.InferenceSession = new binding.InferenceSession();
    // A copy, for the binding reads the whole buffer that a small array may be a part of.
    const { buffer } = file.slice();
    const executionProviders = provider === 'cpu' ? ['cpu'] : [{ name: provider, validationMode: 'disabled' } as const];
    const preferredOutputLocation = Object.fromEntries(staying.map((name) => [name, 'gpu-buffer'] as const));
    const options = { ...sessionOptions, ...profiling, executionProviders };
    own.loadModel(
      buffer,
      0,
      buffer.byteLength,
      staying.length === 0 ? options : { ...options, preferredOutputLocation },
    );
    const runOwn = (given: Record<string, Tensor>, wanted: Record<string, Tensor | null>) => {
      try {
        return own.run(given, wanted, {}) as Record<string, Tensor>;
      } catch (error) {
        if (provider === 'cpu' || !(error instanceof Error)) throw error;
        throw new ProviderError(deviceFailure(error.message), { cause: error });
      }
    };
    return {
      run({ inputs, outputs }) {
        count(traffic, inputs.values(), outputs.values());
        const given = tensorsOf(inputs);
        if (staying.length === 0) {
          runOwn(given, tensorsOf(outputs));
          return new Map();
        }
        // With outputs on the device the runtime makes the arrays of the others.
        const none = [...outputs.keys(), ...staying].map((name) => [name, null] as const);
        const made = runOwn(given, Object.fromEntries(none));
        for (const [name, { array }] of outputs) array.set(made[name].data as Numbers);
        return new Map(staying.map((name) => [name, made[name]]));
      },
      runTogether: null,
      dispose() {
        if (profileFilePrefix !== undefined) own.endProfiling();
        own.dispose();
      },
    };
  };
  const memory = provider === 'cpu' ? null : deviceMemory(session);
  const runtime = `ONNX Runtime ${version()}`;
  const device = provider === 'cpu' ? `${runtime}, one thread of ${processor()}` : runtime;
  const ofGraph = (graph: Graph, roles?: Roles) => session(onnxGraph(graph), [...(roles?.staying.keys() ?? [])]);
  return { engine: { session: ofGraph, memory, traffic, isWebgpu: provider === 'webgpu', gathers: false }, device };
}

/** By graphs that add nothing, for the binding itself reads no tensor of a device. */
function deviceMemory(session: (file: Uint8Array, staying: readonly string[]) => Session): DeviceMemory {
  const copies = {
    float32: copyGraph({ type: float, nothing: Float32Array.of(0) }),
    int32: copyGraph({ type: int32, nothing: Int32Array.of(0) }),
  };
  // Never disposed: the last session to go would take the device with it, and the tensors that are on it.
  const made = new Map<string, Session>();
  const copying = (kind: keyof typeof copies, way: 'up' | 'down'): Session => {
    const own = made.get(kind + way) ?? session(copies[kind], way === 'up' ? ['there'] : []);
    made.set(kind + way, own);
    return own;
  };
  return {
    upload({ shape, array }) {
      const kind = array instanceof Int32Array ? 'int32' : 'float32';
      const here = { shape: [array.length], array };
      const tensor = copying(kind, 'up')
        .run({ inputs: new Map([['here', here]]), outputs: new Map() })
        .get('there');
      if (tensor === undefined) throw new Error('nothing came to the device');
      return { shape, kind, tensor };
    },
    download(resident, into) {
      const shape = [into.length];
      if (resident.kind === 'bool') throw new Error('truth values stay in this process');
      copying(resident.kind, 'down').run({
        inputs: new Map([['here', { ...resident, shape }]]),
        outputs: new Map([['there', { shape, array: into }]]),
      });
    },
  };
}

function copyGraph({ type, nothing }: { type: number; nothing: Float32Array | Int32Array }): Uint8Array {
  const described = (name: string) => ({ name, type, shape: ['numbers'] });
  return onnxFile({
    name: 'copy',
    nodes: [{ type: 'Add', inputs: ['here', 'nothing'], outputs: ['there'] }],
    constants: [{ name: 'nothing', shape: [], data: nothing }],
    inputs: [described('here')],
    outputs: [described('there')],
  });
}

/**
 * The properties that the binding reads. The class Tensor checks them, which takes a twentieth of the time of small graphs; shapes
 * and types are our own here.
 */
function tensorsOf(values: ReadonlyMap<string, Shaped | Resident>): Record<string, Tensor> {
  const tensors: Record<string, object> = {};
  for (const [name, own] of values)
    tensors[name] =
      'array' in own
        ? { type: typeOf(own.array), dims: own.shape, data: own.array, location: 'cpu' }
        : { type: own.kind, dims: own.shape, gpuBuffer: gpuBufferOf(own), location: 'gpu-buffer' };
  return tensors as Record<string, Tensor>;
}

function gpuBufferOf({ tensor }: Resident): unknown {
  if (!('gpuBuffer' in tensor)) throw new Error('a tensor of another device was given to ONNX Runtime');
  return tensor.gpuBuffer;
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
