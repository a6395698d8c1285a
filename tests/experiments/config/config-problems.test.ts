import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkedConfig } from '../../../experiments/config/config-problems.ts';
import { InputError } from '../../../src/errors.ts';

const schema = z.strictObject({
  name: z.string(),
  size: z.union([z.int(), z.strictObject({ events: z.array(z.string()) })]).default(1),
  encoder: z
    .discriminatedUnion('name', [
      z.strictObject({ name: z.literal('hashing'), dimensions: z.int().default(8) }),
      z.strictObject({ name: z.literal('transformers'), model: z.string() }),
    ])
    .default({ name: 'hashing', dimensions: 8 }),
  byName: z.record(z.string(), z.strictObject({ weight: z.number() })).default({}),
});

function problems(input: unknown): string[] {
  try {
    checkedConfig({ schema, input, wrong: 'it is wrong' });
    return [];
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.message.split('\n').slice(1);
  }
}

it('says of what is missing that it is, whatever it may be', () => {
  const needed = z.strictObject({ of: z.union([z.string(), z.strictObject({ name: z.string() })]) });
  expect(() => checkedConfig({ schema: needed, input: {}, wrong: 'it is wrong' })).toThrow(
    'it is wrong:\n  of: is missing',
  );
});

it('has none of a good configuration', () => {
  expect(problems({ name: 'x' })).toEqual([]);
});

it('quotes no place into which people write passwords, nor a password in an address', () => {
  const url = z.url({ protocol: /^https$/, error: 'must be an address' });
  const endpoint = z.strictObject({
    baseURL: url,
    apiKeyEnv: z.string().regex(/^[A-Z_]+$/, 'must be a name'),
    site: url,
  });
  const input = { baseURL: 'http://me:hunter2@a/v1', apiKeyEnv: 'sk-hunter2', site: 'http://me:hunter2@a/?q=1' };
  expect(() => checkedConfig({ schema: endpoint, input, wrong: 'it is wrong' })).toThrow(
    'it is wrong:\n  baseURL: must be an address\n  apiKeyEnv: must be a name\n  site: must be an address (found "http://…@a/?q=1")',
  );
});

it('names the place, the reason and the value', () => {
  expect(problems({ name: 3, byName: { a: { weight: 'much' } } })).toEqual([
    '  name: Invalid input: expected string, received number (found 3)',
    '  byName.a.weight: Invalid input: expected number, received string (found "much")',
  ]);
  expect(problems({ byName: { a: {} } })).toEqual([
    '  name: is missing; give a string',
    '  byName.a.weight: is missing; give a number',
  ]);
  expect(problems([])).toEqual(['  the file: Invalid input: expected object, received array (found [])']);
  expect(problems({ name: ['long'.repeat(50)] })[0].length).toBeLessThan(160);
});

it('names the path of a key that belongs elsewhere, first where something is set', () => {
  expect(problems({ name: 'x', events: ['a'] })).toEqual(['  events: unknown key; did you mean size.events?']);
  expect(problems({ name: 'x', evnets: ['a'] })).toEqual(['  evnets: unknown key; did you mean size.events?']);
  expect(problems({ name: 'x', dimensions: 8 })).toEqual([
    '  dimensions: unknown key; did you mean encoder.dimensions?',
  ]);
});

it('names the nearest known key, or all where none is near', () => {
  expect(problems({ name: 'x', nmae: 1 })).toEqual(['  nmae: unknown key; did you mean name?']);
  expect(problems({ name: 'x', colour: 1 })).toEqual(['  colour: unknown key; known are name, size, encoder, byName']);
  expect(problems({ name: 'x', encoder: { name: 'hashing', dimension: 1 } })).toEqual([
    '  encoder.dimension: unknown key; did you mean dimensions?',
  ]);
  expect(problems({ name: 'x', encoder: { name: 'transformers', model: 'm', dimensions: 1 } })).toEqual([
    '  encoder.dimensions: unknown key; known are name, model',
  ]);
  expect(problems({ name: 'x', encoder: { dimensions: 4 } })).toEqual([
    "  encoder.name: missing beside what is set there; give 'hashing' | 'transformers'",
  ]);
  expect(problems({ name: 'x', byName: { a: { weight: 1, wieght: 2 } } })).toEqual([
    '  byName.a.wieght: unknown key; did you mean weight?',
  ]);
});
