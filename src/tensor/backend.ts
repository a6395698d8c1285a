import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { InputError } from '../errors.ts';
import { type BackendName, backendNames } from './backend-names.ts';
import type { Engine } from './graph/engine.ts';
import { GraphBackend } from './graph/graph-backend.ts';
import { registerKernels } from './graph/kernels.ts';
import { loadEngine } from './onnx/engine.ts';
import { describeTensorflow, registerTensorflow } from './tensorflow.ts';
import { xlaEngine } from './xla/engine.ts';
import { installedPlugin, installedPluginFile, keptPrograms, openPlugin } from './xla/plugin.ts';

/** The `backend` part of every configuration. */
export const backendSchema = z
  .enum(['auto', ...backendNames])
  .default('auto')
  .describe(
    'where tensors live: xla and tensorflow (see `earshot backend install`), onnx, wasm, cpu; auto takes the first that works, and xla only where a plugin for another device than the processor is installed',
  );

/** Which backend was taken and why. */
export interface BackendChoice {
  readonly name: BackendName;
  /** The package behind it, and the device it found. */
  readonly device: string;
  /** Why the backends before it were not taken, one clear line each. */
  readonly skipped: readonly string[];
}

/** Each starts a backend and says what it runs on. */
const loaders: Readonly<Record<BackendName, (options: { isAsked: boolean }) => Promise<string>>> = {
  xla: loadXla,
  tensorflow: loadTensorflow,
  onnx: loadOnnx,
  wasm: loadWasm,
  cpu: loadCpu,
};

type BackendSetting = z.infer<typeof backendSchema>;

/**
 * Starts a backend and makes it the current one. `auto` takes the first that works; any other name must work.
 * One start at a time, since tfjs gives up a start that another one overtakes.
 * @throws InputError if the backend does not work on this machine, with the reasons
 */
export function selectBackend(requested: BackendSetting): Promise<BackendChoice> {
  const started = lastStart.then(() => start(requested));
  lastStart = started.catch(() => {});
  return started;
}

let lastStart: Promise<unknown> = Promise.resolve();

async function start(requested: BackendSetting): Promise<BackendChoice> {
  // Otherwise tfjs prints advice on every start; `earshot doctor` says what matters.
  tf.enableProdMode();
  const skipped: string[] = [];
  for (const name of requested === 'auto' ? autoNames() : [requested]) {
    try {
      const device = await loaders[name]({ isAsked: requested === name });
      return { name, device, skipped };
    } catch (error) {
      skipped.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new InputError(`no tensor backend could be used: ${skipped.join('; ')}. Try \`--set backend=auto\`.`);
}

/** xla only where somebody installed a plugin. */
function autoNames(): BackendName[] {
  return backendNames.filter((name) => name !== 'xla' || existsSync(installedPluginFile()));
}

/**
 * Does some work on a backend and makes the one before current again: for models that need not run where the training runs.
 * One such work at a time; nothing else may use tensors meanwhile.
 * @throws InputError if the backend does not work on this machine
 */
export function onBackend<T>(name: BackendName, work: () => Promise<T>): Promise<T> {
  const done = lastWork.then(async () => {
    // The type says string, and before the first backend it is undefined.
    const before: string | undefined = tf.getBackend();
    if (before !== name) await selectBackend(name);
    try {
      return await work();
    } finally {
      if (before !== undefined && before !== name) await tf.setBackend(before);
    }
  });
  lastWork = done.catch(() => {});
  return done;
}

let lastWork: Promise<unknown> = Promise.resolve();

async function loadTensorflow(): Promise<string> {
  registerTensorflow();
  await activate('tensorflow');
  return describeTensorflow();
}

async function loadOnnx({ isAsked }: { isAsked: boolean }): Promise<string> {
  if (!isAsked && process.env.EARSHOT_ONNX === 'none')
    throw new Error('EARSHOT_ONNX=none leaves it to those who ask for it');
  const { engine, device } = await loadEngine();
  await useEngine('onnx', engine);
  return device;
}

/** Compiled steps on the device of the installed plugin, all else on the processor by ONNX Runtime. */
async function loadXla({ isAsked }: { isAsked: boolean }): Promise<string> {
  const installed = installedPlugin();
  if (installed === null)
    throw new Error('no plugin is installed; install one with `earshot backend install xla --device …`');
  const client = await openPlugin(installed);
  const { platform, platformVersion, deviceKind } = client;
  if (platform === 'cpu' && !isAsked) throw new Error('its plugin is for the processor, on which onnx is faster');
  const { engine: eager } = await loadEngine();
  const onNote = (line: string) => process.stderr.write(`earshot: ${line}\n`);
  const compile = keptPrograms(client, installed, onNote);
  await useEngine('xla', xlaEngine({ client, compile, eager, onNote }));
  return `${platform === 'cpu' ? 'the processor' : `GPU ${deviceKind}`} by XLA (${platformVersion})`;
}

/** The engine behind tfjs' backend `graph`; null before the first start. */
let running: 'onnx' | 'xla' | null = null;

async function useEngine(name: 'onnx' | 'xla', engine: Engine): Promise<void> {
  if (running === null) registerKernels();
  if (running !== name) {
    if (running !== null) tf.removeBackend('graph');
    tf.registerBackend('graph', () => new GraphBackend(engine));
    running = name;
  }
  await activate('graph');
}

async function loadWasm(): Promise<string> {
  const { setWasmPaths } = await import('@tensorflow/tfjs-backend-wasm');
  const require = createRequire(import.meta.url);
  const directory = require.resolve('@tensorflow/tfjs-backend-wasm/package.json').replace(/package\.json$/, '');
  setWasmPaths(`${directory}dist/`);
  await activate('wasm');
  return 'processor, one thread';
}

async function loadCpu(): Promise<string> {
  await import('@tensorflow/tfjs-backend-cpu');
  await activate('cpu');
  return 'processor, plain JavaScript';
}

async function activate(name: Exclude<BackendName, 'xla' | 'onnx'> | 'graph'): Promise<void> {
  if (!(await tf.setBackend(name))) throw new Error(`the ${name} backend did not start`);
  await tf.ready();
}
