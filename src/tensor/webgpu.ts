import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as tf from '@tensorflow/tfjs-core';

/*
 * tfjs' WebGPU backend outside a browser, on Dawn, Chrome's implementation, whose binaries are in the npm package
 * `webgpu`: Vulkan, Metal or Direct3D 12. Neither package is a dependency of Earshot: together they take 150 MB.
 */

const packages = { dawn: 'webgpu', backend: '@tensorflow/tfjs-backend-webgpu' } as const;

/** The releases that were tried. */
export const testedWebgpu = { [packages.dawn]: '0.6.2', [packages.backend]: '4.22.0' } as const;

/** What is used of Dawn. */
interface Dawn {
  create(flags: readonly string[]): Gpu;
  /** GPUBufferUsage and the like. */
  readonly globals: object;
}

interface Gpu {
  requestAdapter(): Promise<{ readonly info: AdapterInfo } | null>;
}

interface AdapterInfo {
  readonly description: string;
  readonly vendor: string;
  readonly isFallbackAdapter: boolean;
}

/**
 * Starts the backend and makes it the current one.
 * @param options.hardwareOnly refuses an adapter that computes on the processor, which is slower than wasm
 * @returns the adapter in words
 * @throws an error that says why it cannot be used
 */
export async function startWebgpu({ hardwareOnly }: { hardwareOnly: boolean }): Promise<string> {
  const require = createRequire(import.meta.url);
  const [dawn, backend] = [resolved(require, packages.dawn), resolved(require, packages.backend)];
  if (dawn === null || backend === null) {
    const wanted = Object.entries(testedWebgpu).map(([name, version]) => `${name}@${version}`);
    throw new Error(`it needs two packages more: \`npm install ${wanted.join(' ')}\``);
  }
  const adapter = await findAdapter(dawn);
  if (adapter === null)
    throw new Error('no adapter was found: there is no GPU, or no driver of it for Vulkan, Metal or Direct3D 12');
  const { info, gpu, globals } = adapter;
  const name = info.description || info.vendor;
  if (hardwareOnly && info.isFallbackAdapter)
    throw new Error(`the only adapter (${name}) computes on the processor; choose it with backend: webgpu`);
  Object.assign(globalThis, globals);
  await withNavigator({ gpu }, async () => {
    require(backend);
    if (!(await tf.setBackend('webgpu'))) throw new Error('the webgpu backend did not start');
    await tf.ready();
  });
  return `${info.isFallbackAdapter ? 'processor, ' : 'GPU, '}${name}`;
}

interface FoundAdapter {
  readonly info: AdapterInfo;
  readonly gpu: Gpu;
  readonly globals: object;
}

/** Dawn is opened once in a process. */
let found: FoundAdapter | null = null;

async function findAdapter(path: string): Promise<FoundAdapter | null> {
  if (found !== null) return found;
  const { create, globals }: Dawn = await import(pathToFileURL(path).href);
  const gpu = create([]);
  const adapter = await gpu.requestAdapter();
  found = adapter === null ? null : { info: adapter.info, gpu, globals };
  return found;
}

/** The backend looks for a browser's `navigator` when it is loaded and started, and not again. */
async function withNavigator(navigator: object, work: () => Promise<void>): Promise<void> {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true, writable: true });
  try {
    await work();
  } finally {
    if (before === undefined) Reflect.deleteProperty(globalThis, 'navigator');
    else Object.defineProperty(globalThis, 'navigator', before);
  }
}

/** Where a package is, beside Earshot or in the folder that EARSHOT_WEBGPU names; null where it is in neither. */
function resolved(require: NodeJS.Require, name: string): string | null {
  const folder = process.env.EARSHOT_WEBGPU ?? join(homedir(), '.cache', 'earshot', 'webgpu');
  try {
    return require.resolve(name, { paths: [import.meta.dirname, folder] });
  } catch {
    return null;
  }
}
