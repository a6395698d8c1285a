import { accessSync, constants, existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { makeFolder, writeFileAtomically } from '../atomic-file.ts';
import { nvidiaGpu } from './nvidia-gpu.ts';

/*
 * ONNX Runtime does not say which adapter its WebGPU provider took. On Linux the process itself shows it: which Vulkan drivers it has
 * loaded, and whether one of them holds a GPU's device file open.
 */

/** What graphs run on in this process, after the first one has run. */
export interface GpuAdapter {
  /** Null where it cannot be known. */
  readonly isHardware: boolean | null;
  /** The GPU's name, or the software's. */
  readonly name: string;
  /** Files of the Vulkan drivers that are loaded. */
  readonly drivers: readonly string[];
}

const gpuFile = /^\/dev\/(nvidia\d+|dri\/renderD\d+|dxg)$/;
const vulkanDriver = /\/(lib(?:vulkan_\w+|vk_swiftshader|GLX_nvidia|EGL_nvidia|amdvlk\w*)\.so[\d.]*)$/;

export function adapterInUse(): GpuAdapter {
  if (process.platform !== 'linux') return { isHardware: null, name: 'a GPU by WebGPU', drivers: [] };
  const paths = readFileSync('/proc/self/maps', 'utf8').split('\n');
  const drivers = [...new Set(paths.flatMap((path) => vulkanDriver.exec(path)?.[1] ?? []))];
  const open = readdirSync('/proc/self/fd')
    .map(targetOf)
    .filter((path) => gpuFile.test(path));
  if (open.length === 0)
    return { isHardware: false, name: `the processor by ${drivers.join(', ') || 'software'}`, drivers };
  const nvidia = open.some((path) => path.includes('nvidia')) ? nvidiaGpu() : null;
  return { isHardware: true, name: `GPU ${nvidia ?? nameOf(open[0])}`, drivers };
}

function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // The one that listed the folder is closed by now.
    return '';
  }
}

const makers: Readonly<Record<string, string>> = { '0x1002': 'AMD', '0x10de': 'NVIDIA', '0x8086': 'Intel' };

/** By the numbers of its maker and its model. */
function nameOf(path: string): string {
  const [maker, model] = ['vendor', 'device'].map((part) => {
    const file = join('/sys/class/drm', path.slice(path.lastIndexOf('/') + 1), 'device', part);
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  });
  return maker === '' ? path : `${makers[maker] ?? maker} ${model}`;
}

/** What of the machine is looked at: its file system, and the variables that Vulkan's loader reads. */
interface Machine {
  readonly root?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Why this machine has no GPU that a process may use; null where it has one, or where that cannot be known. */
export function missingGpu({ root = '/' }: Machine = {}): string | null {
  if (process.platform !== 'linux') return null;
  const files = ['dev', 'dev/dri'].flatMap((folder) =>
    namesIn(join(root, folder))
      .map((name) => `/${folder}/${name}`)
      .filter((path) => gpuFile.test(path)),
  );
  if (files.length === 0) return 'this machine shows no GPU: there is no /dev/dri/renderD*, /dev/nvidia* or /dev/dxg';
  if (files.some((path) => mayUse(join(root, path)))) return null;
  const group = statSync(join(root, files[0])).gid;
  return `this process may not open ${files.join(', ')}; add the user to the file's group (${group}, on Debian \`sudo usermod -aG render $USER\`) and log in again, or pass the device to the container`;
}

/**
 * A file for Vulkan's loader that names NVIDIA's driver, where no other does, or where that of the distribution lacks the libraries of
 * OpenGL that it opens: a container is often given the GPU without them. The driver is the one for machines without a display. Null where
 * there is no need.
 */
export function headlessNvidiaDriver({
  root = '/',
  env = process.env,
  home = homedir(),
}: Machine & { home?: string } = {}): string | null {
  if (process.platform !== 'linux' || namedDrivers(env) !== undefined) return null;
  const library = fileNamed('libEGL_nvidia.so.0', { root, env });
  const hasOpenGl = fileNamed('libGLX.so.0', { root, env }) !== null;
  const manifests = driverFiles(root);
  const isNeeded = manifests.length === 0 || (!hasOpenGl && manifests.every((name) => name.includes('nvidia')));
  if (library === null || !isNeeded || !existsSync(join(root, 'dev/nvidia0'))) return null;
  const folder = join(home, '.cache', 'earshot');
  makeFolder(folder);
  const file = join(folder, 'nvidia-vulkan.json');
  const driver = { file_format_version: '1.0.1', ICD: { library_path: library, api_version: '1.3.0' } };
  writeFileAtomically(file, `${JSON.stringify(driver)}\n`);
  return file;
}

function namedDrivers(env: NodeJS.ProcessEnv): string | undefined {
  return env.VK_DRIVER_FILES ?? env.VK_ICD_FILENAMES;
}

/** Names of the files by which packages tell Vulkan's loader of their drivers. */
function driverFiles(root: string): string[] {
  return ['etc', 'usr/share', 'usr/local/share'].flatMap((folder) => namesIn(join(root, folder, 'vulkan/icd.d')));
}

/** Where a shared library lies; null where it is in none of the usual folders. */
function fileNamed(library: string, { root = '/', env = process.env }: Machine): string | null {
  const folders = ['lib', 'lib64', 'lib/x86_64-linux-gnu', 'lib/aarch64-linux-gnu', 'local/lib', 'local/nvidia/lib64'];
  const searched = [...folders.map((folder) => join(root, 'usr', folder)), ...(env.LD_LIBRARY_PATH ?? '').split(':')];
  const files = searched.flatMap((folder) => (folder === '' ? [] : [join(folder, library)]));
  return files.find((file) => existsSync(file)) ?? null;
}

/** What this machine lacks for an adapter of Vulkan. */
export function missingForVulkan({ root = '/', env = process.env }: Machine = {}): string | null {
  if (process.platform !== 'linux') return null;
  if (fileNamed('libvulkan.so.1', { root, env }) === null)
    return 'the Vulkan loader is missing; install the package libvulkan1 (Debian, Ubuntu) or vulkan-loader (Fedora)';
  const named = namedDrivers(env);
  const drivers = named?.split(':').filter((file) => existsSync(file)) ?? driverFiles(root);
  if (drivers.length === 0)
    return named === undefined
      ? "no Vulkan driver is installed; install the package mesa-vulkan-drivers for AMD and Intel, NVIDIA's own driver for NVIDIA. In a container, name the driver's file in VK_DRIVER_FILES (`find / -name '*icd*.json'`)"
      : `VK_DRIVER_FILES and VK_ICD_FILENAMES name no file that exists (${named})`;
  return missingGpu({ root });
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function mayUse(file: string): boolean {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
