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
  ['a broken file', 'name: [', /^t.yaml is not valid YAML: /],
  ['an alias without an anchor', 'name: *nobody', /^t.yaml is not valid YAML: .*nobody/],
  ['aliases that multiply', bomb, /^t.yaml is not valid YAML: Excessive alias count/],
  ['an anchor that contains itself', 'a: &a [*a]', /^t.yaml is not usable: an anchor in it contains its own alias/],
  ['a merge of what is no map', '<<: 3', /^t.yaml is not valid YAML: /],
])('%s is an error of the user', (_name, text, message) => {
  expect(() => parseYaml(text, 't.yaml is')).toThrow(InputError);
  expect(() => parseYaml(text, 't.yaml is')).toThrow(message);
});

it('reads anchors and merges', () => {
  expect(parseYaml('a: &a {x: 1}\nb: {<<: *a, y: 2}', 't.yaml is')).toEqual({ a: { x: 1 }, b: { x: 1, y: 2 } });
});
