import { parseDocument } from 'yaml';
import { InputError } from '../../src/errors.ts';

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
    // An alias without its anchor is found only here.
    if (error instanceof ReferenceError) throw new InputError(`${what} not valid YAML: ${error.message}`);
    throw error;
  }
}
