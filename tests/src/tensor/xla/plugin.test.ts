import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { gpuFlags, installedPlugin, isForGpu, keptPrograms, openPlugin } from '../../../../src/tensor/xla/plugin.ts';
import { temporaryFolder } from '../../data/fixtures.ts';

afterEach(() => vi.unstubAllEnvs());

it('names the folder of the assembler of CUDA, behind what the user set', () => {
  expect(gpuFlags('')).toBe('');
  expect(gpuFlags('--xla_gpu_autotune_level=4 --xla_dump_to=a', '/cuda')).toBe(
    '--xla_gpu_autotune_level=4 --xla_dump_to=a --xla_gpu_cuda_data_dir=/cuda',
  );
});

it('is installed where the file says so, and the plugin is there', () => {
  const read = (files: Record<string, string>) => {
    vi.stubEnv('EARSHOT_XLA', temporaryFolder(files));
    return installedPlugin();
  };
  expect(read({})).toBeNull();
  expect(() => read({ 'plugin.json': '{' })).toThrow(/plugin\.json is damaged; install it again with/);
  const gone = JSON.stringify({ plugin: '/nowhere.so', device: null });
  expect(() => read({ 'plugin.json': gone })).toThrow('the plugin /nowhere.so is gone; install it again with');
  const here = { plugin: import.meta.filename, device: 'cpu' };
  expect(read({ 'plugin.json': JSON.stringify(here) })).toEqual(here);
});

it('gives the options of GPUs to the plugins of GPUs alone, wherever they lie', () => {
  expect(isForGpu('/home/a/jax_plugins/xla_cuda13/xla_cuda_plugin.so')).toBe(true);
  expect(isForGpu('/xla_rocm7/xla_rocm_plugin.so')).toBe(true);
  expect(isForGpu('/xla_oneapi/xla_oneapi_plugin.so')).toBe(true);
  expect(isForGpu('/a/pjrt_c_api_gpu_plugin.so')).toBe(true);
  expect(isForGpu('/opt/cuda/gpu/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so')).toBe(false);
});

it('does not load a library that is cut off, which would kill the process', async () => {
  const header = Buffer.alloc(128);
  header.write('\x7fELF\x02', 'latin1');
  header.writeBigUInt64LE(100n, 40);
  header.writeUInt16LE(64, 58);
  header.writeUInt16LE(3, 60);
  const plugin = join(temporaryFolder(), 'plugin.so');
  writeFileSync(plugin, header);
  await expect(openPlugin({ plugin })).rejects.toThrow(/plugin\.so is cut off; copy it again, or install one with/);
});

/** Programs by a compiler that makes the bytes of the text, and what was compiled and noted. */
function programs() {
  const compiled: string[] = [];
  const notes: string[] = [];
  const client = {
    ...{ apiVersion: '0.115', platform: 'cpu', platformVersion: 'cpu', deviceKind: 'cpu' },
    compile: (text: string) => ({ handle: BigInt(compiled.push(text)), outputs: 1 }),
    serialized: () => Buffer.from('a program'),
    load: (bytes: Uint8Array) => {
      expect(Buffer.from(bytes).toString()).toBe('a program');
      return { handle: 77n, outputs: 1 };
    },
  };
  const make = () => keptPrograms(client, { plugin: import.meta.filename }, (line) => notes.push(line));
  return { make, compiled, notes };
}

it('keeps programs, and compiles those again that are damaged', () => {
  const folder = temporaryFolder();
  vi.stubEnv('EARSHOT_XLA', folder);
  const { make, compiled, notes } = programs();
  make()('module');
  expect(make()('module').handle).toBe(77n);
  expect(compiled).toEqual(['module']);
  const [name] = readdirSync(join(folder, 'programs'));
  const file = join(folder, 'programs', name);
  const whole = readFileSync(file);
  const flipped = Buffer.from(whole);
  flipped[flipped.length - 1] ^= 1;
  for (const damaged of [flipped, whole.subarray(0, -1), Buffer.of()]) {
    writeFileSync(file, damaged);
    expect(make()('module').handle).not.toBe(77n);
    expect(readFileSync(file)).toEqual(whole);
  }
  // A folder in its place is none, and stays.
  rmSync(file);
  mkdirSync(file);
  expect(make()('module').handle).not.toBe(77n);
  expect(notes).toEqual([expect.stringContaining('cannot write')]);
});

it('trains on where programs cannot be kept, and says so once', () => {
  vi.stubEnv('EARSHOT_XLA', temporaryFolder({ programs: 'a file' }));
  const { make, compiled, notes } = programs();
  const compile = make();
  for (const text of ['one', 'another']) compile(text);
  expect(compiled).toEqual(['one', 'another']);
  expect(notes).toEqual([
    expect.stringMatching(/^programs are compiled anew at every start, .*cannot write .*programs.* \(ENOTDIR\)/),
  ]);
});
