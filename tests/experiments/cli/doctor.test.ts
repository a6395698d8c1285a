import { chmodSync, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { tensorflowPackage } from '../../../src/tensor/tensorflow.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

/** A folder with programs that come before all others while `work` runs. */
async function withPrograms<T>(programs: Record<string, string>, work: () => Promise<T>): Promise<T> {
  const folder = temporaryFolder(programs);
  for (const name of Object.keys(programs)) chmodSync(join(folder, name), 0o755);
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`);
  try {
    return await work();
  } finally {
    vi.unstubAllEnvs();
  }
}

const driver = '#!/bin/sh\necho "NVIDIA H100 80GB HBM3"\n';
const noDriver = '#!/bin/sh\necho "NVIDIA-SMI has failed" >&2\nexit 9\n';

it('fits 100 columns, and says in full why a backend cannot be used', async () => {
  const { out } = await earshot(['doctor', 'tensorflow', 'wasm', '--dimensions', '8'], {
    cwd: temporaryFolder(),
  });
  const lines = out.split('\n');
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  expect(out).toMatch(/^wasm +[\d.e+]+ +processor, one thread/m);
  for (const [, backend] of out.matchAll(/^(\w+) .*cannot be used/gm))
    expect(out.replaceAll('\n', ' ')).toMatch(new RegExp(` ${backend}: .{40,}`));
});

it('tells a script what it timed and what auto chose', async () => {
  const cwd = temporaryFolder();
  const words = ['doctor', 'tensorflow', 'wasm', '--json', '--dimensions', '8'];
  const { code, out, errors } = await withPrograms({ 'nvidia-smi': driver }, () => earshot(words, { cwd }));
  expect(code, errors).toBe(0);
  const found = JSON.parse(out);
  expect(found.gpu).toBe('NVIDIA H100 80GB HBM3');
  expect(found.node).toBe(process.versions.node);
  expect(['tensorflow', 'wasm']).toContain(found.chosen.name);
  expect(found.backends.map(({ backend }: { backend: string }) => backend)).toEqual(['tensorflow', 'wasm']);
  for (const { iterationMs, problem } of found.backends) expect(iterationMs > 0).toBe(problem === null);
  expect(found.backends[1].iterationMs).toBeGreaterThan(0);
});

it('refuses a backend that is not known and a width that is no number', async () => {
  const cwd = temporaryFolder();
  const unknown = await earshot(['doctor', 'cuda'], { cwd });
  expect(unknown.errors).toContain('Allowed choices are xla, tensorflow, onnx, wasm, cpu.');
  const wrong = await earshot(['doctor', '--dimensions', 'wide'], { cwd });
  expect(wrong.code).toBe(1);
  expect(wrong.errors).toContain("argument 'wide' is invalid. It must be a whole number above 0.");
});

it('names a GPU that is there, and the command that installs what uses it', async () => {
  const words = ['doctor', 'wasm', '--dimensions', '8'];
  const cwd = temporaryFolder();
  const { out } = await withPrograms({ 'nvidia-smi': driver }, () => earshot(words, { cwd }));
  expect(out.replaceAll('\n', ' ')).toMatch(/has a GPU \(NVIDIA H100 80GB HBM3\)\. .*`earshot backend install xla`/);
});

it.skipIf(existsSync('/dev/nvidia0'))('is silent about GPUs where the driver finds none', async () => {
  const words = ['doctor', 'wasm', '--dimensions', '8'];
  const { out } = await withPrograms({ 'nvidia-smi': noDriver }, () => earshot(words, { cwd: temporaryFolder() }));
  expect(out).not.toContain('This machine has a GPU');
});

/** Makes an environment whose pip says what it was asked for, and fails. */
const python = `#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit; fi
echo "asked: $*" >&2
exit 1
`;

it.skipIf(tensorflowPackage() === null || process.platform !== 'linux').each([
  ['with CUDA where there is a GPU', driver, /fetching .* with CUDA for NVIDIA H100 80GB HBM3/, 'tensorflow[and-cuda]'],
  ['for the processor where there is none', noDriver, /fetching .* for the processor/, '--no-deps tensorflow-cpu'],
])('backend install fetches TensorFlow %s', async (_, smi, note, wheel) => {
  const cwd = temporaryFolder();
  const failed = await withPrograms({ 'nvidia-smi': smi, python3: python, 'a-compiler': '#!/bin/sh\n' }, () => {
    vi.stubEnv('CXX', 'a-compiler');
    vi.stubEnv('EARSHOT_TENSORFLOW', cwd);
    return earshot(['backend', 'install'], { cwd });
  });
  expect(failed.code).toBe(1);
  expect(failed.errors).toMatch(note);
  expect(failed.errors).toContain(`asked: -m pip install --quiet --disable-pip-version-check --no-cache-dir`);
  expect(failed.errors).toContain(` ${wheel}==`);
});
