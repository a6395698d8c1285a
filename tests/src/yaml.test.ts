import { expect, it } from 'vitest';
import { InputError } from '../../src/errors.ts';
import { parseYaml } from '../../src/yaml.ts';

const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]']
  .concat(
    [...'bcdefgh'].map((name, index) => {
      const before = 'abcdefgh'[index];
      return `${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`;
    }),
  )
  .join('\n');

it.each([
  [
    'a broken file',
    'name: [',
    /^t.yaml is not valid YAML: line 1, column 8: expected a closing \] or \}, .*; found "name: \["$/,
  ],
  ['a key that stands twice', 'a: 1\nb: 2\na: 3', /line 3, column 1: expected each key once in a map; found "a: 3"$/],
  ['a tab', 'a:\n\t- x', /line 2, column 1: expected spaces before the first sign, not a tab/],
  [
    'a colon in a value',
    'a: 1\nb: c: d',
    /line 2, column 4: expected one "key: value" in a line, with quotes around a value/,
  ],
  ['a quote without an end', 'a: "x\n', /line 1, column 6: expected a closing quote or bracket/],
  ['an escape that is none', 'a: "\\q"', /line 1, column 5: in double quotes \\ begins an escape/],
  ['an alias without an anchor', 'name: *nobody', /line 1, column 7: \*nobody stands for what &nobody names above it/],
  ['aliases that multiply', bomb, /^t.yaml is not usable: its aliases multiply/],
  ['an anchor that contains itself', 'a: &a [*a]', /^t.yaml is not usable: an anchor in it contains its own alias/],
  ['a merge of what is no map', '<<: 3', /line 1, column 1: << takes a map/],
])('%s is an error of the user', (_name, text, message) => {
  expect(() => parseYaml(text, 't.yaml is')).toThrow(InputError);
  expect(() => parseYaml(text, 't.yaml is')).toThrow(message);
});

it('reads anchors and merges', () => {
  expect(parseYaml('a: &a {x: 1}\nb: {<<: *a, y: 2}', 't.yaml is')).toEqual({ a: { x: 1 }, b: { x: 1, y: 2 } });
});
