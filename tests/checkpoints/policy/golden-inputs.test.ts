import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { goldenRefusalLines } from '../../../checkpoints/policy/golden-inputs.ts';
import { threadsOfStream } from '../../../src/data/thread-file.ts';
import { InputError } from '../../../src/errors.ts';

async function isRefused(line: string): Promise<boolean> {
  try {
    for await (const _ of threadsOfStream(Readable.from([`${line}\n`]), { name: 'x' }));
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return true;
  }
}

it.each(goldenRefusalLines)(
  'decide refuses or takes $line as the golden refusals say',
  async ({ line, isRefused: expected }) => {
    expect(await isRefused(line)).toBe(expected);
  },
);
