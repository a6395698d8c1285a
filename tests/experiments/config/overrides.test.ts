import { expect, it } from 'vitest';
import { mergeDeep, parseOverride } from '../../../experiments/config/overrides.ts';
import { InputError } from '../../../src/errors.ts';

it('merges maps key by key and replaces all else', () => {
  const base = { a: { b: 1, c: [1, 2] }, d: 4 };
  expect(mergeDeep(base, { a: { c: [3] }, e: { f: 5 } })).toEqual({ a: { b: 1, c: [3] }, d: 4, e: { f: 5 } });
  expect(mergeDeep(base, { a: null, d: { g: 6 } })).toEqual({ a: null, d: { g: 6 } });
  expect(base).toEqual({ a: { b: 1, c: [1, 2] }, d: 4 });
});

it('replaces what gets another name, such as another encoder', () => {
  const base = { name: 'a', encoder: { name: 'hashing', dimensions: 8 } };
  expect(mergeDeep(base, { encoder: { name: 'transformers' } })).toEqual({
    ...base,
    encoder: { name: 'transformers' },
  });
  const wider = { name: 'hashing', wordNgrams: 2 };
  expect(mergeDeep(base, { name: 'b', encoder: wider })).toEqual({ name: 'b', encoder: { dimensions: 8, ...wider } });
});

it('reads values as YAML does', () => {
  expect(parseOverride('agent.imitation.alpha=0.5')).toEqual({ agent: { imitation: { alpha: 0.5 } } });
  expect(parseOverride('seeds=[1, 2]')).toEqual({ seeds: [1, 2] });
  expect(parseOverride('a=true')).toEqual({ a: true });
  expect(parseOverride('a=x=y')).toEqual({ a: 'x=y' });
  expect(parseOverride('a=')).toEqual({ a: null });
});

it('says what it cannot read', () => {
  expect(() => parseOverride('a.b')).toThrow(
    new InputError('--set needs path=value, such as agent.imitation.alpha=0.5; got "a.b"'),
  );
  expect(() => parseOverride('=3')).toThrow('--set needs path=value');
  expect(() => parseOverride('a={')).toThrow(/^the value of --set a=\{ is not valid YAML: /);
  expect(() => parseOverride('a=*b')).toThrow(/^the value of --set a=\*b is not valid YAML: .*b/);
});
