import { expect, it } from 'vitest';
import { z } from 'zod';
import { judgementSchema } from '../../experts/detector.ts';
import { entryOf } from '../../src/entry-of.ts';
import { recordOf } from '../../src/record-of.ts';

const names = ['__proto__', '___proto__', '____proto__', 'constructor', 'toString', 'valueOf', '', 'a'];
const record = Object.fromEntries(names.map((name, index) => [name, index / 10]));

it('keeps every key, as z.record does not', () => {
  expect(Object.entries(recordOf(z.number()).parse(record))).toEqual(Object.entries(record));
  const twice = Object.fromEntries(names.map((name) => [name, record]));
  const parsed = recordOf(recordOf(z.number())).parse(JSON.parse(JSON.stringify(twice)));
  expect(JSON.stringify(parsed)).toBe(JSON.stringify(twice));
});

it('checks the values of all of them, and that it is a record', () => {
  const schema = recordOf(z.number());
  for (const name of names) expect(schema.safeParse(Object.fromEntries([[name, 'x']])).success).toBe(false);
  for (const value of [null, 'a', 1, [1], undefined]) expect(schema.safeParse(value).success).toBe(false);
});

it('is in annotations', () => {
  const usage = { requests: 0, inputTokens: 0, outputTokens: 0 };
  const judgement = { label: '__proto__', probabilities: record, explanation: '', transcript: [], usage };
  const { probabilities } = judgementSchema.parse(JSON.parse(JSON.stringify(judgement)));
  expect(names.map((name) => entryOf(probabilities ?? {}, name))).toEqual(Object.values(record));
});

it('has no entry for what only every object has', () => {
  for (const name of ['constructor', '__proto__', 'hasOwnProperty']) expect(entryOf({ a: 1 }, name)).toBeUndefined();
});
