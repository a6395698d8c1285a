import { expect, it } from 'vitest';
import { roundedInteger, withoutNaN, withWholeIntegers } from '../../src/json.ts';

it('puts integers that are no exact numbers into quotes, and nothing else', () => {
  const text =
    '{"a":1669700650467246081,"b":[-9007199254740993,9007199254740991],"c":"1669700650467246081 \\" 1669700650467246081","d":0.12345678901234567890,"e":1.6697006504672461e18,"1669700650467246081":1}';
  expect(JSON.parse(withWholeIntegers(text))).toEqual({
    a: '1669700650467246081',
    b: ['-9007199254740993', 9007199254740991],
    c: '1669700650467246081 " 1669700650467246081',
    d: 0.12345678901234568,
    e: 1.6697006504672461e18,
    '1669700650467246081': 1,
  });
  expect(roundedInteger(text)).toBe('1669700650467246081');
  expect(roundedInteger('{"c":"1669700650467246081"}')).toBeNull();
});

it('reads a text of megabytes', () => {
  const text = JSON.stringify({ text: 'a"\\'.repeat(2_000_000), id: '1669700650467246081' });
  expect(withWholeIntegers(text)).toBe(text);
});

it('puts null for what Python writes and JSON does not have, outside of texts', () => {
  expect(JSON.parse(withoutNaN('{"a": NaN, "b": [-Infinity, 1], "c": "NaN \\" Infinity"}'))).toEqual({
    a: null,
    b: [null, 1],
    c: 'NaN " Infinity',
  });
});
