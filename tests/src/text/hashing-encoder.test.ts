import { describe, expect, it } from 'vitest';
import { createEncoder } from '../../../src/text/create-encoder.ts';
import { createHashingEncoder } from '../../../src/text/hashing-encoder.ts';
import { finishHash, mixIntoHash, scrambleWord } from '../../../src/text/murmur3.ts';

async function rows(texts: string[], options: Parameters<typeof createHashingEncoder>[0] = {}) {
  const encoder = createHashingEncoder(options);
  const vectors = await encoder.encode(texts);
  return texts.map((_, index) => vectors.subarray(index * encoder.dimensions, (index + 1) * encoder.dimensions));
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, index) => sum + value * b[index], 0);
const wordsOnly = { dimensions: 65_536, wordNgrams: { min: 1, max: 1 }, characterNgrams: { weight: 0 } };

describe('murmur3', () => {
  it('agrees with published values of MurmurHash3_x86_32', () => {
    expect(finishHash(0, 0) >>> 0).toBe(0);
    expect(finishHash(1, 0) >>> 0).toBe(0x514e28b7);
    expect(finishHash(mixIntoHash(0, scrambleWord(0xffffffff)), 4) >>> 0).toBe(0x76293b50);
    expect(finishHash(mixIntoHash(0, scrambleWord(0x87654321)), 4) >>> 0).toBe(0xf55b516b);
    expect(finishHash(mixIntoHash(0x5082edee, scrambleWord(0x87654321)), 4) >>> 0).toBe(0x2362f9de);
  });
});

describe('hashing encoder', () => {
  it('has 256 dimensions, length 1, and no direction for a text without content', async () => {
    const [english, chinese, empty, dots] = await rows(['Is this true?', '这是真的吗？', '', ' ... ']);
    expect(english).toHaveLength(256);
    expect(dot(english, english)).toBeCloseTo(1, 5);
    expect(dot(chinese, chinese)).toBeCloseTo(1, 5);
    expect(empty.every((value) => value === 0)).toBe(true);
    expect(dots).toEqual(empty);
  });

  it('counts words sublinearly', async () => {
    const [once, twice, other] = await rows(['fire', 'fire fire smoke', 'smoke'], wordsOnly);
    const repeated = 1 + Math.log(2);
    expect(dot(once, twice)).toBeCloseTo(repeated / Math.hypot(repeated, 1), 5);
    expect(dot(other, twice)).toBeCloseTo(1 / Math.hypot(repeated, 1), 5);
    expect(dot(once, other)).toBe(0);
  });

  it('weights words and characters', async () => {
    const both = { dimensions: 65_536, wordNgrams: { min: 1, max: 1, weight: 3 } };
    const [word, whole] = await rows(['ab'], wordsOnly).then(async ([first]) => [
      first,
      ...(await rows(['ab'], { ...both, characterNgrams: { min: 4, max: 4, weight: 4 } })),
    ]);
    expect(dot(word, whole)).toBeCloseTo(3 / 5, 5);
  });

  it('ignores case, width, apostrophes, and who or what is linked', async () => {
    const [a, b] = await rows(["@bbc DON'T panic http://t.co/1", '@cnn don’t ｐａｎｉｃ https://example.org/long?x=y']);
    expect(a).toEqual(b);
    const [c, d] = await rows(['@bbc', '@cnn'], { maskHandlesAndUrls: false });
    expect(c).not.toEqual(d);
  });

  it('puts related texts nearer than unrelated ones, in English and Chinese', async () => {
    const [claim, related, unrelated] = await rows([
      'Police shot a man in Ferguson',
      'man shot by the police, #Ferguson',
      'I love my new kitchen table',
    ]);
    expect(dot(claim, related)).toBeGreaterThan(dot(claim, unrelated) + 0.2);
    const [quake, quakes, lunch] = await rows(['北京今天发生地震', '今天北京地震了？', '我想吃一碗牛肉面']);
    expect(dot(quake, quakes)).toBeGreaterThan(dot(quake, lunch) + 0.2);
  });

  it('tells "Continue." from "Stop."', async () => {
    const [proceed, stop] = await rows(['Continue.', 'Stop.']);
    expect(Math.abs(dot(proceed, stop))).toBeLessThan(0.3);
  });

  it('does not depend on the texts encoded before, however long', async () => {
    const long = Array.from({ length: 20_000 }, (_, index) => `word${index} 字${index}`).join(' ');
    const encoder = createHashingEncoder();
    await encoder.encode([long]);
    expect(await encoder.encode(['after'])).toEqual(await createHashingEncoder().encode(['after']));
  });

  it('never changes: stored embeddings and trained policies rely on these numbers', async () => {
    const [vector] = await rows(['Is this true? 真的吗 😂'], { dimensions: 8 });
    expect([...vector].map((value) => Number(value.toFixed(6)))).toMatchInlineSnapshot(`
      [
        -0.081136,
        -0.324545,
        0,
        0.705329,
        -0.024897,
        -0.162272,
        -0.355887,
        0.486817,
      ]
    `);
  });

  it('has an identity that names every option', () => {
    const { identity } = createHashingEncoder({ dimensions: 64 });
    expect(identity).toEqual({
      name: 'hashing',
      version: 1,
      dimensions: 64,
      wordNgrams: { min: 1, max: 2, weight: 1 },
      characterNgrams: { min: 2, max: 4, weight: 0.5 },
      maskHandlesAndUrls: true,
    });
  });
});

describe('createEncoder', () => {
  it('makes the encoder that is named', async () => {
    expect((await createEncoder({ name: 'hashing', dimensions: 16 })).dimensions).toBe(16);
  });

  it('names a wrong option, its place and the rule', async () => {
    await expect(createEncoder({ name: 'hashing', wordNgrams: { min: 3 } })).rejects.toMatchObject({
      name: 'InputError',
      message: expect.stringMatching(/min must not exceed max\s+→ at wordNgrams/),
    });
    await expect(createEncoder(JSON.parse('{"name":"hashing","dimension":3}'))).rejects.toThrow(/dimension/);
    await expect(createEncoder(JSON.parse('{"name":"word2vec"}'))).rejects.toThrow(/at name/);
  });
});
