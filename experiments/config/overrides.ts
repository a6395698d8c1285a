import { entryOf } from '../../src/entry-of.ts';
import { InputError } from '../../src/errors.ts';
import { parseYaml } from '../../src/yaml.ts';

export type PlainObject = { readonly [key: string]: unknown };

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Merges objects key by key and replaces all other values. An object with another `name` is replaced too, because
 * options of one encoder do not fit another.
 */
export function mergeDeep(base: PlainObject, over: PlainObject): PlainObject {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const below = merged.get(key);
    const areMerged = isPlainObject(below) && isPlainObject(value) && !isAnother(below, value);
    merged.set(key, areMerged ? mergeDeep(below, value) : value);
  }
  return Object.fromEntries(merged);
}

/**
 * The part of an override that concerns a variant. Options of an object that the variant replaces by another are dropped, such as
 * those of `detector` if the variant names another detector.
 */
export function overrideOf(
  override: PlainObject,
  { base, variant }: { base: PlainObject; variant: PlainObject },
): PlainObject {
  const entries = Object.entries(override).flatMap(([key, value]): (readonly [string, unknown])[] => {
    const [below, ofVariant] = [entryOf(base, key), entryOf(variant, key)];
    if (!isPlainObject(value) || !isPlainObject(below) || !isPlainObject(ofVariant)) return [[key, value]];
    if (isAnother(below, ofVariant)) return value.name === undefined ? [] : [[key, value]];
    const inner = overrideOf(value, { base: below, variant: ofVariant });
    return Object.keys(inner).length === 0 && Object.keys(value).length > 0 ? [] : [[key, inner]];
  });
  return Object.fromEntries(entries);
}

function isAnother(below: PlainObject, value: PlainObject): boolean {
  return below.name !== undefined && value.name !== undefined && below.name !== value.name;
}

/** `a.b.c=value` as `{a: {b: {c: value}}}`; the value is read as YAML, so `0.5` is a number and `[1, 2]` a list. */
export function parseOverride(text: string): PlainObject {
  const equals = text.indexOf('=');
  if (equals < 1)
    throw new InputError(`--set needs path=value, such as agent.imitation.alpha=0.5; got ${JSON.stringify(text)}`);
  const path = text.slice(0, equals).split('.');
  const value = parseYaml(text.slice(equals + 1), `the value of --set ${text} is`);
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as PlainObject;
}
