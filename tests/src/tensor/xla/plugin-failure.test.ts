import { expect, it } from 'vitest';
import { openFailure, runFailure } from '../../../../src/tensor/xla/plugin-failure.ts';

it.each([
  [
    'libcublas.so.13: cannot open shared object file: No such file or directory',
    /needs the library libcublas\.so\.13, which is missing; install it/,
  ],
  [
    'Failed to load shared library: /a/plugin.so: cannot open shared object file: No such file or directory',
    /^there is no plugin \/a\/plugin\.so; install one/,
  ],
  [
    'Failed to load shared library: cannot read file data: Is a directory',
    /^there is no plugin \/a\/plugin\.so; install one/,
  ],
  [
    'Unexpected PJRT_Client_Create_Args size: expected 96, got 88. Check installed software versions.',
    /speaks another version of the PJRT API \(Unexpected .*\); use one such as `earshot backend install xla` downloads/,
  ],
  [
    "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.38' not found (required by /a/plugin.so)",
    /was built for a newer system/,
  ],
  ['/a/plugin.so: invalid ELF header', /was not built for this machine, .*choose another --device/],
  ['incompatible architecture (have arm64, need x86_64)', /was not built for this machine/],
  ["Cannot find function 'GetPjrtApi' in shared library", /is no PJRT plugin, for it has no function GetPjrtApi/],
  [
    'CUDA driver version is insufficient for CUDA runtime version',
    /driver is too old .*update the driver, or install --device cuda12/,
  ],
  ['No visible GPU devices.', /found no device \(No visible GPU devices\.\); check that the driver shows one/],
  ['something else\nwith a second line', /could not be started: something else\nwith a second line/],
])('says what to do about %s', (message, expected) => {
  expect(openFailure(message, '/a/plugin.so')).toMatch(expected);
});

it('names the maker whose libraries no wheel of ours has', () => {
  const missing = (name: string) => `${name}: cannot open shared object file: No such file or directory`;
  expect(openFailure(missing('libamdhip64.so.7'), '/a/xla_rocm_plugin.so')).toMatch(
    /needs the library libamdhip64\.so\.7, which is missing; install ROCm 7 of AMD, or put/,
  );
  expect(openFailure(missing('libsycl.so.8'), '/a/xla_oneapi_plugin.so')).toMatch(
    /install the oneAPI runtime of Intel/,
  );
});

it('tells too little memory from a device that failed', () => {
  expect(runFailure({ message: 'Out of memory allocating 8 bytes\nstack', isOutOfMemory: true })).toMatch(
    /^the device has too little memory for one run \(Out of memory allocating 8 bytes\)\. Close what else uses it/,
  );
  expect(runFailure({ message: 'device lost', isOutOfMemory: false })).toMatch(/resumes from the last checkpoint/);
});
