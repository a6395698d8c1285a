import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyContext, retain, selectionState } from '../../envs/selection-env.ts';
import { earshot } from '../experiments/cli/command-line.ts';
import { tinySelector } from '../experiments/selector/tiny-selector.ts';
import { runPython } from './python.ts';

const levels = ['posts', 'claims'] as const;

let cwd: string;
let bundle: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-interop-'));
  bundle = join(cwd, 'selector');
  const { selector } = tinySelector;
  const experiment = { ...tinySelector, selector: { ...selector, hidden: 5 }, evaluation: { beside: [] } };
  writeFileSync(join(cwd, 'tiny.yaml'), JSON.stringify(experiment));
  for (const words of [
    ['train', 'tiny.yaml'],
    ['export', 'runs/tiny/agent/seed-1', '--out', 'selector'],
  ]) {
    const { code, errors } = await earshot(words, { cwd });
    expect(code, errors).toBe(0);
  }
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe("a selector's bundle in Python", () => {
  it('decides as its checkpoint does', async () => {
    const golden = readFileSync(join(bundle, 'golden.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const states = golden.map(({ level, state }) => {
      const bytes = new Uint8Array(Buffer.from(state, 'base64'));
      return `${JSON.stringify({ level, state: [...new Float32Array(bytes.buffer)] })}\n`;
    });
    const python = await runPython([join(bundle, 'earshot_selector.py')], { stdin: states.join('') });
    expect(python.code, python.errors).toBe(0);
    const found = python.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(found).toHaveLength(golden.length);
    for (const [index, { level, retainProbability }] of golden.entries()) {
      expect(found[index].level).toBe(level);
      expect(Math.abs(found[index].retainProbability - retainProbability)).toBeLessThanOrEqual(1e-5);
    }
  });

  it('makes the states that training makes', async () => {
    const context = emptyContext(2);
    for (const kept of [
      [1, 2],
      [4, -1],
    ])
      retain(context, kept);
    const expected = selectionState({ claim: [0.5, 0.25], context, explanation: [0.1, 0.3], distribution: [0.2, 0.8] });
    const script = `
import sys
sys.path.insert(0, sys.argv[1])
import earshot_selector
context = earshot_selector.Context(2)
context.retain([1, 2])
context.retain([4, -1])
print([float(value) for value in context.state([0.5, 0.25], [0.1, 0.3], [0.2, 0.8])])
`;
    const python = await runPython(['-c', script, bundle]);
    expect(python.code, python.errors).toBe(0);
    expect(JSON.parse(python.out)).toEqual([...expected]);
  });

  it.each(levels)('has an ONNX file of %s that the ONNX checker accepts', async (level) => {
    const script =
      'import onnx, sys; onnx.checker.check_model(onnx.load(sys.argv[1]), full_check=True); print("whole")';
    const checked = await runPython(['-c', script, join(bundle, `${level}.onnx`)]);
    expect([checked.code, checked.out], checked.errors).toEqual([0, 'whole\n']);
  });

  it('is refused by name when one byte of a file that it reads was changed', async () => {
    const names = readdirSync(bundle).filter((name) => /onnx$|jsonl$|manifest/.test(name));
    expect(names).toHaveLength(4);
    for (const name of names) {
      const folder = join(cwd, 'changed');
      cpSync(bundle, folder, { recursive: true });
      const bytes = readFileSync(join(folder, name));
      bytes[bytes.length - 3] ^= 1;
      writeFileSync(join(folder, name), bytes);
      const refused = await runPython([join(folder, 'earshot_selector.py')]);
      expect(refused.code, name).toBe(1);
      expect(refused.errors, name).toContain(`earshot_selector.py: ${name} was changed after the export`);
    }
  });
});
