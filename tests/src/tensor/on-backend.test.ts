import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { onBackend, selectBackend } from '../../../src/tensor/backend.ts';

describe('a backend', () => {
  it('starts for everyone who asks at once', async () => {
    const choices = await Promise.all([selectBackend('wasm'), selectBackend('wasm')]);
    expect(choices.map(({ name }) => name)).toEqual(['wasm', 'wasm']);
  });
});

describe('work on another backend', () => {
  it('runs there, one after the other, and leaves the backend of before, also when it fails', async () => {
    await selectBackend('cpu');
    const seen: string[] = [];
    const first = onBackend('wasm', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(tf.getBackend());
    });
    const failing = onBackend('wasm', async () => {
      seen.push(tf.getBackend());
      throw new Error('no model');
    });
    await first;
    await expect(failing).rejects.toThrow('no model');
    expect(seen).toEqual(['wasm', 'wasm']);
    expect(tf.getBackend()).toBe('cpu');
    expect(await onBackend('cpu', async () => tf.getBackend())).toBe('cpu');
  });
});
