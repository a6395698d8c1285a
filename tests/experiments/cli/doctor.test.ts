import { afterEach, expect, it, vi } from 'vitest';
import { doctorCommand } from '../../../experiments/cli/doctor.ts';

afterEach(() => void vi.restoreAllMocks());

it('fits 100 columns, and says in full why a backend cannot be used', async () => {
  let out = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  await doctorCommand().parseAsync(['node', 'doctor', '--dimensions', '8']);
  const lines = out.split('\n');
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  expect(out).toMatch(/^\| wasm +\| \d+ +\|/m);
  for (const [, backend] of out.matchAll(/^\| (\w+) +\| – /gm))
    expect(out.replaceAll('\n', ' ')).toMatch(new RegExp(` ${backend}: .{40,}`));
});
