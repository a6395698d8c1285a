import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEncoder } from '../../src/text/create-encoder.ts';
import { miniLmFolder, python } from './minilm.ts';

/** Two wordings of one thing a line; different lines have nothing to do with each other. */
const paraphrases = [
  ['A passenger plane has crashed in the French Alps.', 'An airliner went down in the mountains of France.'],
  ['Police say the gunman has been arrested.', 'The shooter is in custody, according to officers.'],
  ['Is there any source for this claim?', 'Do you have evidence that this is true?'],
  ['The vaccine is safe for children.', 'Kids can be given the jab without danger.'],
  ['My grandmother bakes excellent apple cake.', 'Grandma makes a wonderful apple pie.'],
] as const;
const texts = [...paraphrases.flat(), 'RT @user: https://t.co/x 😱 #BREAKING', 'word '.repeat(90).trim()];

let cwd: string;
let vectors: number[][];
let others: { graph: number[][]; original: number[][] };
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-minilm-'));
  const folder = await miniLmFolder();
  const encoder = await createEncoder({ name: 'transformers', model: folder, dtype: 'q8' });
  const encoded = await encoder.encode(texts);
  expect(encoder.dimensions).toBe(384);
  vectors = texts.map((_, text) => [...encoded.subarray(384 * text, 384 * (text + 1))]);
  writeFileSync(join(cwd, 'texts.json'), JSON.stringify(texts));
  const script = join(import.meta.dirname, 'minilm-vectors.py');
  const { code, out, errors } = await python([script, folder, join(cwd, 'texts.json')]);
  expect(code, errors).toBe(0);
  others = JSON.parse(out);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

function cosine(left: readonly number[], right: readonly number[]): number {
  const product = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  return product(left, right) / Math.sqrt(product(left, left) * product(right, right));
}

describe('MiniLM with its real weights', () => {
  it('puts paraphrases closer together than any two texts about different things', () => {
    const same = paraphrases.map((_, pair) => cosine(vectors[2 * pair], vectors[2 * pair + 1]));
    const different = paraphrases.flatMap((_, pair) =>
      paraphrases.flatMap((_, other) =>
        other <= pair
          ? []
          : [0, 1].flatMap((i) => [0, 1].map((j) => cosine(vectors[2 * pair + i], vectors[2 * other + j]))),
      ),
    );
    expect(Math.min(...same)).toBeGreaterThan(0.4);
    expect(Math.max(...different)).toBeLessThan(0.4);
  });

  it('has the vectors of ONNX Runtime and Hugging Face’s tokenizer in Python', () => {
    for (const [index, text] of texts.entries())
      expect(cosine(vectors[index], others.graph[index]), text).toBeGreaterThan(0.9999);
  });

  it('is close to the original weights, which are not quantised', () => {
    for (const [index, text] of texts.entries())
      expect(cosine(vectors[index], others.original[index]), text).toBeGreaterThan(0.97);
  });

  it('embeds a text alike whatever it is encoded with', async () => {
    const encoder = await createEncoder({ name: 'transformers', model: await miniLmFolder(), dtype: 'q8' });
    for (const index of [0, 10]) {
      const alone = await encoder.encode([texts[index]]);
      for (const [i, value] of alone.entries()) expect(value).toBeCloseTo(vectors[index][i], 5);
    }
  });
});
