import { createRequire } from 'node:module';
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { InputError } from '../errors.ts';

export const backendSchema = z
  .enum(['auto', 'tensorflow', 'wasm', 'cpu'])
  .default('auto')
  .describe('where tensors live: tensorflow (tfjs-node-gpu or tfjs-node), wasm, cpu; auto takes the first that works');

export type BackendName = Exclude<z.infer<typeof backendSchema>, 'auto'>;

export interface BackendChoice {
  readonly name: BackendName;
  /** The package behind it, and the device it found. */
  readonly device: string;
  /** Why the backends before it were not taken, one clear line each. */
  readonly skipped: readonly string[];
}

const preference: readonly BackendName[] = ['tensorflow', 'wasm', 'cpu'];
const loaders: Readonly<Record<BackendName, () => Promise<string>>> = {
  tensorflow: loadTensorflow,
  wasm: loadWasm,
  cpu: loadCpu,
};

/**
 * Makes a backend current and says which and why. A backend named outright must work; `auto` falls through.
 * @throws InputError when the named backend cannot be had on this machine.
 */
export async function selectBackend(requested: z.infer<typeof backendSchema>): Promise<BackendChoice> {
  // tfjs would advise its users on every start; `doctor` says what there is to say.
  tf.enableProdMode();
  const skipped: string[] = [];
  for (const name of requested === 'auto' ? preference : [requested]) {
    try {
      const device = await loaders[name]();
      return { name, device, skipped };
    } catch (error) {
      skipped.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new InputError(`no tensor backend could be used: ${skipped.join('; ')}. Try \`--set backend=auto\`.`);
}

/** tfjs-node-gpu before tfjs-node. Both fetch a native library in an install script, so either may be a hollow shell. */
async function loadTensorflow(): Promise<string> {
  const require = createRequire(import.meta.url);
  const reasons: string[] = [];
  for (const packageName of ['@tensorflow/tfjs-node-gpu', '@tensorflow/tfjs-node']) {
    try {
      require.resolve(`${packageName}/package.json`);
    } catch {
      reasons.push(`${packageName} is not installed`);
      continue;
    }
    try {
      require(packageName);
      await activate('tensorflow');
      return packageName;
    } catch {
      reasons.push(
        `${packageName} has no working native library (fetch it with \`npm rebuild ${packageName} --ignore-scripts=false\`)`,
      );
    }
  }
  throw new Error(reasons.join(', '));
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

async function activate(name: BackendName): Promise<void> {
  if (!(await tf.setBackend(name))) throw new Error(`the ${name} backend did not start`);
  await tf.ready();
}
