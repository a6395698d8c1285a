import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { missingForVulkan, missingGpu } from '../../../src/tensor/gpu-adapter.ts';
import { temporaryFolder } from '../data/fixtures.ts';

const loader = { 'usr/lib/x86_64-linux-gnu/libvulkan.so.1': '' };
const driver = { 'usr/share/vulkan/icd.d/radeon_icd.json': '{}' };
const device = { 'dev/dri/renderD128': '', 'dev/dri/card0': '' };

describe.runIf(process.platform === 'linux')('what a machine lacks for WebGPU', () => {
  it.each([
    ['the loader', { ...driver, ...device }, /Vulkan loader is missing; install the package libvulkan1/],
    ['a driver', { ...loader, ...device }, /no Vulkan driver is installed; install the package mesa-vulkan-drivers/],
    ['a GPU', { ...loader, ...driver, 'dev/null': '', 'dev/nvidiactl': '' }, /shows no GPU: there is no \/dev\/dri/],
    ['nothing', { ...loader, ...driver, ...device }, null],
    ['nothing, on NVIDIA', { ...loader, 'etc/vulkan/icd.d/nvidia_icd.json': '{}', 'dev/nvidia0': '' }, null],
  ])('is %s', (_, files, message) => {
    const found = missingForVulkan({ root: temporaryFolder(files), env: {} });
    if (message === null) expect(found).toBeNull();
    else expect(found).toMatch(message);
  });

  it('is the driver that a variable names', () => {
    const root = temporaryFolder({ ...loader, ...driver, ...device });
    expect(missingForVulkan({ root, env: { VK_ICD_FILENAMES: '/nowhere.json' } })).toBe(
      'VK_DRIVER_FILES and VK_ICD_FILENAMES name no file that exists (/nowhere.json)',
    );
  });

  it.skipIf(process.getuid?.() === 0)('is the permission for its device file', () => {
    const root = temporaryFolder(device);
    chmodSync(join(root, 'dev/dri/renderD128'), 0o000);
    expect(missingGpu({ root })).toMatch(/may not open \/dev\/dri\/renderD128; .*usermod -aG render/);
  });
});
