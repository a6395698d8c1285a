import { createHash } from 'node:crypto';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Checkpoint, loadCheckpoint, saveCheckpoint } from '../../checkpoints/checkpoint.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const stateSchema = z.object({ step: z.number(), random: z.array(z.number()) });
const expected = { kind: 'stop-agent', formatVersion: 2, stateSchema };
const arrays = {
  mask: { shape: [3], data: Uint8Array.of(1, 0, 255) },
  'policy/weights': { shape: [2, 2], data: Float32Array.of(1.5, -0, Number.NaN, Number.NEGATIVE_INFINITY) },
  steps: { shape: [], data: Int32Array.of(-7) },
  'normaliser/mean': { shape: [1, 2], data: Float64Array.of(Math.PI, 5e-324) },
  empty: { shape: [0, 4], data: new Float32Array(0) },
};
const checkpoint: Checkpoint<{ step: number; random: number[] }> = {
  kind: 'stop-agent',
  formatVersion: 2,
  arrays,
  state: { step: 40, random: [1, -2] },
};

function saved(content: Checkpoint<unknown> = checkpoint): string {
  const path = join(temporaryFolder(), 'step-00000040.safetensors');
  saveCheckpoint(path, content);
  return path;
}

function headerOf(path: string): { text: string; start: number } {
  const file = readFileSync(path);
  const length = Number(file.readBigUInt64LE());
  return { text: file.toString('utf8', 8, 8 + length), start: 8 + length };
}

describe('a checkpoint', () => {
  it('reads back with every array, type, shape and bit', () => {
    const loaded = loadCheckpoint(saved(), expected);
    expect(loaded.state).toEqual(checkpoint.state);
    expect(Object.keys(loaded.arrays).sort()).toEqual(Object.keys(arrays).sort());
    for (const [name, { shape, data }] of Object.entries(arrays)) {
      expect(loaded.arrays[name].shape).toEqual(shape);
      expect(loaded.arrays[name].data.constructor).toBe(data.constructor);
      expect(bytesOf(loaded.arrays[name].data)).toEqual(bytesOf(data));
    }
  });

  it('writes the part of a buffer that an array is a view of', () => {
    const view = Float32Array.of(1, 2, 3, 4).subarray(1, 3);
    const path = saved({ ...checkpoint, arrays: { ...arrays, view: { shape: [2], data: view } } });
    expect([...loadCheckpoint(path, expected).arrays.view.data]).toEqual([2, 3]);
  });

  it('is the same file for the same content', () => {
    expect(readFileSync(saved()).equals(readFileSync(saved()))).toBe(true);
  });

  it('has the safetensors layout: aligned, without gaps, metadata of strings', () => {
    const path = saved();
    const { text, start } = headerOf(path);
    const { __metadata__, ...tensors } = z
      .object({ __metadata__: z.record(z.string(), z.string()) })
      .catchall(z.object({ dtype: z.string(), shape: z.array(z.number()), data_offsets: z.array(z.number()) }))
      .parse(JSON.parse(text));
    expect(start % 8).toBe(0);
    expect(__metadata__).toMatchObject({ kind: 'stop-agent', formatVersion: '2' });
    const widths: Record<string, number> = { F64: 8, F32: 4, I32: 4, U8: 1 };
    let end = 0;
    for (const { dtype, shape, data_offsets } of Object.values(tensors)) {
      expect(data_offsets).toEqual([end, end + shape.reduce((a, b) => a * b, 1) * widths[dtype]]);
      expect(data_offsets[0] % widths[dtype]).toBe(0);
      end = data_offsets[1];
    }
    expect(readFileSync(path).length).toBe(start + end);
    const mean = tensors['normaliser/mean'].data_offsets[0];
    expect(readFileSync(path).readDoubleLE(start + mean)).toBe(Math.PI);
  });

  it('keeps every finite double of the state exactly', () => {
    const random = Random.seeded({ seed: 3, purpose: 'doubles' });
    const bits = new DataView(new ArrayBuffer(8));
    const doubles = [0, -0, 0.1, 1 / 3, 2 ** 53 + 2, Number.MAX_VALUE, Number.MIN_VALUE, -2.2250738585072014e-308];
    while (doubles.length < 5000) {
      bits.setInt32(0, random.integer(2 ** 32) | 0);
      bits.setInt32(4, random.integer(2 ** 32) | 0);
      const value = bits.getFloat64(0);
      if (Number.isFinite(value)) doubles.push(value);
    }
    const path = saved({ ...checkpoint, state: { step: 40, random: doubles } });
    const loaded = loadCheckpoint(path, expected).state.random;
    expect(loaded.every((value, index) => Object.is(value, doubles[index]))).toBe(true);
    expect(loaded).toHaveLength(doubles.length);
  });

  it('refuses to be made of what would not read back', () => {
    const path = join(temporaryFolder(), 'file');
    const save = (change: object) => () => saveCheckpoint(path, { ...checkpoint, ...change });
    expect(save({ state: { loss: [1, Number.NaN] } })).toThrow('state.loss[1] is NaN, which JSON cannot hold');
    expect(save({ state: { moments: new Float32Array(2) } })).toThrow('state.moments is Float32Array');
    expect(save({ state: { seen: new Map() } })).toThrow('state.seen is Map');
    expect(save({ state: [undefined] })).toThrow('state[0] is undefined');
    expect(save({ arrays: { w: { shape: [2, 3], data: new Float32Array(5) } } })).toThrow(
      'array w has shape [2, 3], that is 6 elements, but holds 5',
    );
  });
});

describe('a file that cannot be gone on from is refused', () => {
  const load = (path: string, change: Partial<typeof expected> = {}) =>
    expect(() => loadCheckpoint(path, { ...expected, ...change }));

  it('of another kind', () => {
    const path = saved();
    load(path, { kind: 'selector' }).toThrow(
      new InputError(
        `${path} is a checkpoint of kind "stop-agent", and "selector" is needed; give one of a run of that kind`,
      ),
    );
  });

  it('of another format, also where the kind had another name in it', () => {
    load(saved(), { kind: 'trainer', formatVersion: 3 }).toThrow(/format 2 of stop-agent, and this version reads 3/);
  });

  it('of another format version', () => {
    load(saved(), { formatVersion: 3 }).toThrow(
      /made by another version of Earshot.*\(format 2 of stop-agent, and this version reads 3\): run again/,
    );
  });

  it('with a state of another shape', () => {
    load(saved({ ...checkpoint, state: { step: 1, random: ['x'] } })).toThrow(
      /made by another version of Earshot.*\(random\.0: .*expected number.*: run again/,
    );
  });

  it('truncated anywhere', () => {
    const length = readFileSync(saved()).length;
    for (const size of [0, 5, 8, 20, 34, 90, 300, length - 1]) {
      const path = saved();
      truncateSync(path, size);
      load(path).toThrow(
        new RegExp(
          `is corrupt: its ${size} bytes do not match the SHA-256 .* because it was cut short or altered; delete it`,
        ),
      );
    }
  });

  it('with one bit changed, wherever it lies', () => {
    const length = readFileSync(saved()).length;
    for (let offset = 0; offset < length; offset += 7) {
      const path = saved();
      const file = readFileSync(path);
      file[offset] ^= 4;
      writeFileSync(path, file);
      load(path).toThrow(InputError);
    }
    const path = saved();
    const file = readFileSync(path);
    file[length - 1] ^= 1;
    writeFileSync(path, file);
    load(path).toThrow(/is corrupt: its \d+ bytes do not match the SHA-256 stored in it/);
  });

  it('that is something else', () => {
    const path = join(temporaryFolder(), 'notes.txt');
    writeFileSync(path, 'a text long enough to be mistaken for a header with a length, '.repeat(4));
    load(path).toThrow(`${path} is not a checkpoint of Earshot; give a file from a run's checkpoints/ folder`);
    load(join(path, '..', 'gone')).toThrow(/cannot read the checkpoint .*gone \(ENOENT\): there is no such file/);
  });

  it('with a damaged header under a matching hash', () => {
    const path = saved();
    const file = readFileSync(path);
    const start = headerOf(path).start;
    const damaged = Buffer.from(headerOf(path).text.replace('"F64"', '"F16"'));
    file.set(damaged, 8);
    const digest = file.indexOf('"sha256":"') + 10;
    file.fill('0', digest, digest + 64);
    file.write(createHash('sha256').update(file).digest('hex'), digest, 'latin1');
    expect(start).toBe(8 + damaged.length);
    writeFileSync(path, file);
    load(path).toThrow(/is corrupt: its \d+ bytes/);
  });
});

function bytesOf(data: ArrayBufferView): number[] {
  return [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
}
