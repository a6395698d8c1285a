import { parseDocument } from 'yaml';
import { InputError } from '../../src/errors.ts';

export type PlainObject = { readonly [key: string]: unknown };

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `over` on top of `base`: objects are merged key by key, everything else is replaced. */
export function mergeDeep(base: PlainObject, over: PlainObject): PlainObject {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isPlainObject(below) && isPlainObject(value) ? mergeDeep(below, value) : value;
  }
  return merged;
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

/**
 * YAML 1.2 with the merge key `<<`.
 * @param what begins the complaint, such as `my.yaml is`
 */
export function parseYaml(text: string, what: string): unknown {
  const document = parseDocument(text, { merge: true });
  const [first] = document.errors;
  if (first !== undefined) throw new InputError(`${what} not valid YAML: ${first.message}`);
  try {
    return document.toJS();
  } catch (error) {
    // The parser notices an alias without an anchor only now.
    if (error instanceof ReferenceError) throw new InputError(`${what} not valid YAML: ${error.message}`);
    throw error;
  }
}
