import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { cpus, homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomically } from '../../atomic-file.ts';
import { jsonOrUndefined } from '../../json.ts';
import { type Executable, Pjrt, PjrtError } from './pjrt.ts';
import { openFailure } from './plugin-failure.ts';

/*
 * The plugin that `earshot backend install xla` chose, and the programs that it has compiled.
 */

const installedSchema = z.strictObject({
  plugin: z.string().describe('path of the shared library'),
  device: z.string().describe('what it was installed for, such as cuda13; plugin for one that the user named'),
  libraries: z.array(z.string()).describe('libraries that it needs and the system would not find'),
  dataFolder: z.string().nullable().describe('of CUDA, with its assembler'),
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

const opened = new Map<string, Promise<Pjrt>>();

/**
 * Starts a plugin, once in a process.
 * @throws Error with what can be done
 */
export function openPlugin({ plugin, libraries, dataFolder }: InstalledPlugin): Promise<Pjrt> {
  const flag = `--xla_gpu_cuda_data_dir=${dataFolder}`;
  if (dataFolder !== null && !process.env.XLA_FLAGS?.includes(flag))
    process.env.XLA_FLAGS = [process.env.XLA_FLAGS ?? [], flag].flat().join(' ');
  // Otherwise a plugin writes about itself to stderr.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= '2';
  const client =
    opened.get(plugin) ??
    Pjrt.open(plugin, { before: libraries, isGpu: /cuda|rocm/.test(plugin) }).catch((error: unknown) => {
      opened.delete(plugin);
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(openFailure(message, plugin), { cause: error });
    });
  opened.set(plugin, client);
  return client;
}

/** Compiles programs, and keeps them for the next process with this plugin on this kind of device. */
export function keptPrograms(client: Pjrt, { plugin }: InstalledPlugin): (text: string) => Executable {
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
  return (text) => {
    const file = join(folder, createHash('sha256').update(JSON.stringify(of)).update(text).digest('hex'));
    const loaded = existsSync(file) ? loadedFrom(client, file) : null;
    if (loaded !== null) return loaded;
    const executable = client.compile(text);
    keep(client, executable, file);
    return executable;
  };
}

/** Null where the plugin does not take it. */
function loadedFrom(client: Pjrt, file: string): Executable | null {
  try {
    return client.load(readFileSync(file));
  } catch (error) {
    if (error instanceof PjrtError && !error.isOutOfMemory) return null;
    throw error;
  }
}

/** A plugin that cannot serialize, or a folder that cannot be written, costs time only. */
function keep(client: Pjrt, executable: Executable, file: string): void {
  try {
    const bytes = client.serialized(executable);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileAtomically(file, bytes);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}
