import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { z } from 'zod';
import { jsonOrUndefined } from '../json.ts';

/*
 * tfjs-node's backend on an addon of our own. The npm package is JavaScript, the C++ sources of an addon, and an install
 * script that downloads a compiled one; `earshot backend install` compiles the sources instead. The addon lies in a
 * cache folder, not in the package: `npm ci` empties node_modules, packages may be shared between checkouts or be
 * read-only, and the backend's class takes the loaded addon as an argument anyway.
 */

const packageNames = ['@tensorflow/tfjs-node-gpu', '@tensorflow/tfjs-node'] as const;

/** The file beside a compiled addon. */
const builtAddonSchema = z.strictObject({
  addon: z.string().describe('path of the compiled addon'),
  packageVersion: z.string().describe('of the npm package with its sources'),
  library: z.string().describe('folder of the TensorFlow library that it is linked to, where it must stay'),
});
export type BuiltAddon = z.infer<typeof builtAddonSchema>;

/** Where `earshot backend install` puts the addon. EARSHOT_TENSORFLOW names another folder. */
export function tensorflowFolder(): string {
  return process.env.EARSHOT_TENSORFLOW ?? join(homedir(), '.cache', 'earshot', 'tensorflow');
}

/** The file that says which addon was compiled; written last. */
export function builtAddonFile(): string {
  return join(tensorflowFolder(), 'addon.json');
}

/** The npm package that holds the backend's JavaScript and the addon's sources; null where none is installed. */
export function tensorflowPackage(): { name: string; folder: string; version: string } | null {
  const require = createRequire(import.meta.url);
  for (const name of packageNames) {
    const file = resolved(require, `${name}/package.json`);
    if (file === null) continue;
    const { version } = z.object({ version: z.string() }).parse(jsonOrUndefined(readFileSync(file, 'utf8')));
    return { name, folder: file.replace(/package\.json$/, ''), version };
  }
  return null;
}

/**
 * Registers tfjs' `tensorflow` backend with the addon that was compiled here, else with the one that the npm package
 * downloaded.
 * @throws an error that says why neither can be used
 */
export function registerTensorflow(): void {
  if (tf.findBackendFactory('tensorflow') !== null) return;
  // TensorFlow writes about itself to stderr at every start.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= '2';
  // Otherwise it takes all of a GPU's memory at its start, and nothing else finds any.
  process.env.TF_FORCE_GPU_ALLOW_GROWTH ??= 'true';
  const installed = tensorflowPackage();
  if (installed === null)
    throw new Error(`${packageNames.join(' and ')} are not installed (they are optional packages of npm)`);
  const problem = nodeProblem(installed.name, process.versions.node);
  if (problem !== null) throw new Error(problem);
  const built = builtAddonFile();
  if (existsSync(built)) registerBuilt(installed, built);
  else registerDownloaded(installed);
}

/** Why a version of Node cannot run the package; null where it can. It calls util.isNullOrUndefined, which Node 23 removed. */
export function nodeProblem(name: string, version: string): string | null {
  if (Number.parseInt(version, 10) < 23) return null;
  return `${name} runs on Node 20 and 22, and this is Node ${version}`;
}

/** The version and the device of the backend in use. */
export function describeTensorflow(): string {
  const { isUsingGpuDevice, binding } = backendSchema.parse(tf.backend());
  return `TensorFlow ${binding.TF_Version} on ${isUsingGpuDevice ? 'a GPU' : 'the processor'}`;
}

const backendSchema = z.object({ isUsingGpuDevice: z.boolean(), binding: z.object({ TF_Version: z.string() }) });

function registerBuilt({ name, version }: { name: string; version: string }, file: string): void {
  const again = 'build it again with `earshot backend install`';
  const { data } = builtAddonSchema.safeParse(jsonOrUndefined(readFileSync(file, 'utf8')));
  if (data === undefined) throw new Error(`${file} is damaged; ${again}`);
  if (data.packageVersion !== version)
    throw new Error(
      `${data.addon} was built from ${name} ${data.packageVersion}, and ${version} is installed; ${again}`,
    );
  const require = createRequire(import.meta.url);
  const bindings: unknown = loaded(require, data, again);
  require(`${name}/dist/register_all_kernels.js`);
  const { NodeJSKernelBackend }: BackendModule = require(`${name}/dist/nodejs_kernel_backend.js`);
  tf.registerBackend('tensorflow', () => new NodeJSKernelBackend(bindings, name));
}

interface BackendModule {
  readonly NodeJSKernelBackend: new (bindings: unknown, packageName: string) => tf.KernelBackend;
}

function loaded(require: NodeJS.Require, { addon, library }: BuiltAddon, again: string): unknown {
  try {
    return require(addon);
  } catch (error) {
    // The first line is the dynamic linker's; the rest is a stack.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new Error(`the addon cannot be loaded (${reason}); its TensorFlow was in ${library}; ${again}`);
  }
}

/** The package's own start, which needs the addon that its install script downloads. */
function registerDownloaded({ name, folder }: { name: string; folder: string }): void {
  try {
    // Where the script puts it. Without one, hundreds of modules would be loaded to find that out.
    if (existsSync(join(folder, 'lib'))) {
      createRequire(import.meta.url)(name);
      return;
    }
  } catch {
    // It is for another machine.
  }
  throw new Error(`${name} has no native library; build one with \`earshot backend install\``);
}

function resolved(require: NodeJS.Require, path: string): string | null {
  try {
    return require.resolve(path);
  } catch {
    return null;
  }
}
