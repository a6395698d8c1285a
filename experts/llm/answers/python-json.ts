import { jsonOrUndefined } from '../../../src/json.ts';

const CONSTANT = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;
/** As a log-probability it is none; vLLM writes the same. */
const LEAST = '-9999';

/**
 * The value of a body as Python's json writes it: JSON but for numbers that are not finite, which stand for log-probabilities.
 * `-Infinity` is a very small one, and the others are null. Undefined where it is not even that.
 */
export function pythonJson(body: string): unknown {
  const json = jsonOrUndefined(body);
  if (json !== undefined) return json;
  return jsonOrUndefined(
    body.replace(CONSTANT, (token) => (token.startsWith('"') ? token : token === '-Infinity' ? LEAST : 'null')),
  );
}
