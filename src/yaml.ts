import { parseDocument } from 'yaml';
import { InputError } from './errors.ts';

/**
 * YAML 1.2 with the merge key `<<`, as plain data.
 * @param what begins the complaint, such as `my.yaml is`
 * @throws InputError for what is not valid YAML, refers to itself, or expands to too many aliases
 */
export function parseYaml(text: string, what: string): unknown {
  let value: unknown;
  try {
    const document = parseDocument(text, { merge: true });
    const [first] = document.errors;
    if (first !== undefined) throw new InputError(`${what} not valid YAML: ${first.message}`);
    value = document.toJS();
  } catch (error) {
    if (error instanceof RangeError) throw new InputError(`${what} not usable: it is nested too deeply`);
    if (error instanceof InputError || !(error instanceof Error)) throw error;
    // The parser notices some mistakes only now: an alias without an anchor, aliases that multiply, a wrong merge.
    throw new InputError(`${what} not valid YAML: ${error.message}`);
  }
  if (refersToItself(value, [])) throw new InputError(`${what} not usable: an anchor in it contains its own alias`);
  return value;
}

function refersToItself(value: unknown, within: readonly unknown[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (within.includes(value)) return true;
  return Object.values(value).some((each) => refersToItself(each, [...within, value]));
}
