import { jsonOrUndefined } from '../../../src/json.ts';

const CONSTANT = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;
/** Stands for a log-probability of −∞; vLLM writes the same. */
const LEAST = '-9999';

/**
 * Parses a body as Python's json writes it: JSON with non-finite numbers, which are log-probabilities. `-Infinity`
 * becomes a very small number, the others null. Undefined for any other text.
 */
export function pythonJson(body: string): unknown {
  const json = jsonOrUndefined(body);
  if (json !== undefined) return json;
  return jsonOrUndefined(
    body.replace(CONSTANT, (token) => (token.startsWith('"') ? token : token === '-Infinity' ? LEAST : 'null')),
  );
}
