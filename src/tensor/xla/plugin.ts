import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { cpus, homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from '../../atomic-file.ts';
import { InputError, onDisk } from '../../errors.ts';
import { jsonOrUndefined } from '../../json.ts';
import { type DeviceMemoryUse, type Executable, Pjrt, PjrtError } from './pjrt.ts';
import { openFailure } from './plugin-failure.ts';

/*
 * The plugin that `earshot backend install xla` chose, and the programs that it has compiled.
 */

const installedSchema = z.strictObject({
  plugin: z.string().describe('path of the shared library'),
  device: z
    .string()
    .nullable()
    .describe('what it was installed for, such as cuda13; null for a file that the user named'),
});
export type InstalledPlugin = z.infer<typeof installedSchema>;

/** Where plugins and compiled programs are kept. EARSHOT_XLA names another folder. */
export function xlaFolder(): string {
  return process.env.EARSHOT_XLA ?? join(homedir(), '.cache', 'earshot', 'xla');
}

/** The file that says which plugin is used; written last. */
export function installedPluginFile(): string {
  return join(xlaFolder(), 'plugin.json');
}

/** @throws Error where the file is damaged, or the plugin is gone */
export function installedPlugin(): InstalledPlugin | null {
  const file = installedPluginFile();
  if (!existsSync(file)) return null;
  const again = 'install it again with `earshot backend install xla --device …`';
  const { data } = installedSchema.safeParse(jsonOrUndefined(readFileSync(file, 'utf8')));
  if (data === undefined) throw new Error(`${file} is damaged; ${again}`);
  if (!existsSync(data.plugin)) throw new Error(`the plugin ${data.plugin} is gone; ${again}`);
  return data;
}

/**
 * XLA's flags for a GPU, those that the user set first.
 * @param assembler the folder of CUDA's, if it is known
 */
export function gpuFlags(set: string, assembler?: string): string {
  const flags = {
    xla_gpu_cuda_data_dir: assembler,
  };
  const more = Object.entries(flags).filter(([name, value]) => value !== undefined && !set.includes(`--${name}=`));
  return [set, ...more.map(([name, value]) => `--${name}=${value}`)].join(' ').trim();
}

/** Whether a plugin takes the options of XLA's GPU clients, which others refuse. The folders above its own are named by users. */
export function isForGpu(plugin: string): boolean {
  return /cuda|rocm|oneapi|gpu/.test(join(basename(dirname(plugin)), basename(plugin)));
}

function hasDeviceOfGoogle(): boolean {
  const folder = '/sys/bus/pci/devices';
  const vendorOf = (name: string) => readFileSync(join(folder, name, 'vendor'), 'utf8').trim();
  return existsSync(folder) && readdirSync(folder).some((name) => vendorOf(name) === '0x1ae0');
}

/** Of 64 bits (https://man7.org/linux/man-pages/man5/elf.5.html). */
const elfHeaderBytes = 64;

/** Whether a library of Linux ends before its table of sections, as a download does that broke off. Loading it kills the process. */
function isCutOff(plugin: string): boolean {
  const found = statSync(plugin, { throwIfNoEntry: false });
  if (!found?.isFile() || found.size < elfHeaderBytes) return false;
  const header = Buffer.alloc(elfHeaderBytes);
  const file = openSync(plugin, 'r');
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  if (header.toString('latin1', 0, 5) !== '\x7fELF\x02') return false;
  return Number(header.readBigUInt64LE(40)) + header.readUInt16LE(58) * header.readUInt16LE(60) > found.size;
}

const opened = new Map<string, Promise<Pjrt>>();

/**
 * Starts a plugin, once in a process.
 * @throws Error with what can be done
 */
export async function openPlugin({ plugin }: Pick<InstalledPlugin, 'plugin'>): Promise<Pjrt> {
  if (isCutOff(plugin))
    throw new Error(
      `${plugin} is cut off; copy it again, or install one with \`earshot backend install xla --device …\``,
    );
  // The wheels of NVIDIA beside that of the plugin, as pip lays them out, too: their libraries it finds by itself.
  const assembler = ['cu13', 'cuda_nvcc'].map((name) => join(plugin, '../../../nvidia', name)).find(existsSync);
  const isGpu = isForGpu(plugin);
  if (isGpu) process.env.XLA_FLAGS = gpuFlags(process.env.XLA_FLAGS ?? '', assembler);
  // Where no chip is, libtpu asks Google's cloud about one for minutes.
  if (basename(plugin) === 'libtpu.so' && !hasDeviceOfGoogle()) process.env.TPU_SKIP_MDS_QUERY ??= '1';
  // Otherwise a plugin writes about itself to stderr.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= '2';
  const client =
    opened.get(plugin) ??
    Pjrt.open(plugin, { isGpu }).catch((error: unknown) => {
      opened.delete(plugin);
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(openFailure(message, plugin), { cause: error });
    });
  opened.set(plugin, client);
  return client;
}

/** The device of a plugin, which has compiled and run a program. */
export interface PluginReport {
  readonly plugin: string;
  readonly device: string;
  readonly platform: string;
  readonly version: string;
  /** Of the PJRT API. */
  readonly apiVersion: string;
  readonly memory: DeviceMemoryUse | null;
  readonly compiledMs: number;
}

const probe = `module @probe {
func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>) {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
}
`;

export async function reportOn({ plugin }: Pick<InstalledPlugin, 'plugin'>): Promise<PluginReport> {
  const client = await openPlugin({ plugin });
  const started = performance.now();
  const executable = client.compile(probe);
  const compiledMs = performance.now() - started;
  const input = client.upload(Float32Array.of(1, 2), { shape: [2], kind: 'float32' });
  const [output] = client.execute(executable, [input], { retained: [] });
  const sums = new Float32Array(2);
  client.download(output, sums);
  for (const buffer of [input, output]) client.free(buffer);
  client.unload(executable);
  if (sums.join() !== '2,4')
    throw new Error(`${plugin} computed 1 + 1 and 2 + 2 as ${sums.join(' and ')}; use another plugin`);
  const { deviceKind: device, platform, platformVersion: version, apiVersion } = client;
  return { plugin, device, platform, version, apiVersion, memory: client.memory(), compiledMs };
}

type ProgramClient = Pick<
  Pjrt,
  'compile' | 'serialized' | 'load' | 'apiVersion' | 'platform' | 'platformVersion' | 'deviceKind'
>;

/**
 * Compiles programs, and keeps them for the next process with this plugin on this kind of device.
 * @param onNote is told, once, where they cannot be kept
 */
export function keptPrograms(
  client: ProgramClient,
  { plugin }: Pick<InstalledPlugin, 'plugin'>,
  onNote: (line: string) => void,
): (text: string) => Executable {
  const { size, mtimeMs } = statSync(plugin);
  const { apiVersion, platform, platformVersion, deviceKind } = client;
  // A program for the processor uses what its model has.
  const processor = platform === 'cpu' ? cpus()[0]?.model : '';
  const of = [
    plugin,
    size,
    mtimeMs,
    apiVersion,
    platform,
    platformVersion,
    deviceKind,
    processor,
    process.env.XLA_FLAGS,
  ];
  const folder = join(xlaFolder(), 'programs');
  let canKeep = true;
  return (text) => {
    const file = join(folder, createHash('sha256').update(JSON.stringify(of)).update(text).digest('hex'));
    const loaded = loadedFrom(client, file);
    if (loaded !== null) return loaded;
    const executable = client.compile(text);
    try {
      const program = canKeep ? client.serialized(executable) : null;
      if (program !== null) writeFileAtomically(file, Buffer.concat([hashOf(program), program]));
    } catch (error) {
      if (!(error instanceof PjrtError || error instanceof InputError)) throw error;
      canKeep = false;
      const [reason] = error.message.split('\n');
      onNote(`programs are compiled anew at every start, and may then round otherwise on a GPU: ${reason}`);
    }
    return executable;
  };
}

/** A kept program begins with the hash of the rest: a plugin runs what it is given, damaged or not. */
const hashBytes = 32;

function hashOf(program: Uint8Array): Buffer {
  return createHash('sha256').update(program).digest();
}

/** Null where none is kept, it is damaged, or the plugin does not take it. */
function loadedFrom(client: Pick<ProgramClient, 'load'>, file: string): Executable | null {
  try {
    const kept = onDisk('read a program', () => readFileSync(file));
    const program = kept.subarray(hashBytes);
    return hashOf(program).equals(kept.subarray(0, hashBytes)) ? client.load(program) : null;
  } catch (error) {
    if (error instanceof InputError || (error instanceof PjrtError && !error.isOutOfMemory)) return null;
    throw error;
  }
}
