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
