import { expect, it } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

it('fits 100 columns, and says in full why a backend cannot be used', async () => {
  const { out } = await earshot(['doctor', 'tensorflow', 'wasm', '--dimensions', '8', '--populations', '1,2'], {
    cwd: temporaryFolder(),
  });
  const lines = out.split('\n');
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  expect(out).toMatch(/^\| wasm +\| [\d.e+]+ +\| [\d.e+]+ +\| processor, one thread/m);
  expect(out).toMatch(/wasm: many runs go fastest with --population \d+/);
  for (const [, backend] of out.matchAll(/^\| (\w+) .*cannot be used/gm))
    expect(out.replaceAll('\n', ' ')).toMatch(new RegExp(` ${backend}: .{40,}`));
});

it('tells a script what it timed and what auto chose', async () => {
  const cwd = temporaryFolder();
  const words = ['doctor', 'tensorflow', 'wasm', '--json', '--dimensions', '8', '--populations', '1'];
  const { code, out, errors } = await earshot(words, { cwd });
  expect(code, errors).toBe(0);
  const found = JSON.parse(out);
  expect(found.node).toBe(process.versions.node);
  expect(['tensorflow', 'wasm']).toContain(found.chosen.name);
  expect(found.backends.map(({ backend }: { backend: string }) => backend)).toEqual(['tensorflow', 'wasm']);
  for (const { iterationMs, problem } of found.backends) expect(iterationMs['1'] > 0).toBe(problem === null);
  expect(found.backends[1].iterationMs['1']).toBeGreaterThan(0);
});

it('refuses a backend that is not known and a width that is no number', async () => {
  const cwd = temporaryFolder();
  const unknown = await earshot(['doctor', 'cuda'], { cwd });
  expect(unknown.errors).toContain('Allowed choices are tensorflow, webgpu, onnx, wasm, cpu.');
  const wrong = await earshot(['doctor', '--dimensions', 'wide'], { cwd });
  expect(wrong.code).toBe(1);
  expect(wrong.errors).toContain("argument 'wide' is invalid. It must be a whole number.");
});
