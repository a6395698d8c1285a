import { expect, it, vi } from 'vitest';
import { gpuFlags, installedPlugin } from '../../../../src/tensor/xla/plugin.ts';
import { temporaryFolder } from '../../data/fixtures.ts';

it('names the folder of the assembler of CUDA, behind what the user set', () => {
  expect(gpuFlags('')).toBe('');
  expect(gpuFlags('--xla_gpu_autotune_level=4 --xla_dump_to=a', '/cuda')).toBe(
    '--xla_gpu_autotune_level=4 --xla_dump_to=a --xla_gpu_cuda_data_dir=/cuda',
  );
});

it('is installed where the file says so, and the plugin is there', () => {
  const read = (files: Record<string, string>) => {
    vi.stubEnv('EARSHOT_XLA', temporaryFolder(files));
    try {
      return installedPlugin();
    } finally {
      vi.unstubAllEnvs();
    }
  };
  expect(read({})).toBeNull();
  expect(() => read({ 'plugin.json': '{' })).toThrow(/plugin\.json is damaged; install it again with/);
  const gone = JSON.stringify({ plugin: '/nowhere.so', device: null });
  expect(() => read({ 'plugin.json': gone })).toThrow('the plugin /nowhere.so is gone; install it again with');
  const here = { plugin: import.meta.filename, device: 'cpu' };
  expect(read({ 'plugin.json': JSON.stringify(here) })).toEqual(here);
});
