import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { headlessNvidiaDriver, missingForVulkan, missingGpu } from '../../../src/tensor/gpu-adapter.ts';
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

describe.runIf(process.platform === 'linux')("NVIDIA's driver for machines without a display", () => {
  const library = { 'usr/local/nvidia/lib64/libEGL_nvidia.so.0': '' };
  const gpu = { 'dev/nvidia0': '' };
  const manifest = { 'etc/vulkan/icd.d/nvidia_icd.json': '{}' };
  const openGl = { 'usr/lib/x86_64-linux-gnu/libGLX.so.0': '' };

  it.each([
    ['where nothing names a driver', { ...library, ...gpu }],
    ['where the driver that is named lacks OpenGL', { ...library, ...gpu, ...manifest }],
  ])('is named to the loader %s', (_, files) => {
    const root = temporaryFolder(files);
    const file = headlessNvidiaDriver({ root, env: {}, home: root });
    expect(JSON.parse(readFileSync(file ?? '', 'utf8'))).toMatchObject({
      ICD: { library_path: join(root, 'usr/local/nvidia/lib64/libEGL_nvidia.so.0') },
    });
  });

  it.each([
    ['is another driver', { ...library, ...gpu, ...driver }, {}],
    ['is OpenGL', { ...library, ...gpu, ...manifest, ...openGl }, {}],
    ['is no GPU', library, {}],
    ['is no library of it', gpu, {}],
    ['is a driver that a variable names', { ...library, ...gpu }, { VK_DRIVER_FILES: '/mine.json' }],
  ])('is left alone where there %s', (_, files, env) => {
    const root = temporaryFolder(files);
    expect(headlessNvidiaDriver({ root, env, home: root })).toBeNull();
  });
});
