import { LineCounter, parseDocument, type YAMLError } from 'yaml';
import { InputError } from './errors.ts';

/**
 * Parses YAML 1.2 with the merge key `<<` to plain data.
 * @param what the beginning of the message, such as `my.yaml is`
 * @throws InputError with line, column and expectation for YAML that is invalid, refers to itself, or expands to too
 *   many aliases
 */
export function parseYaml(text: string, what: string): unknown {
  const lineCounter = new LineCounter();
  const wrong = (offset: number, expected: string) => {
    // A missing end is reported at the end of the text, not in an empty line.
    const { line, col } = lineCounter.linePos(Math.max(0, Math.min(offset, text.trimEnd().length)));
    const lineText = text.split('\n')[line - 1]?.trim() ?? '';
    return new InputError(
      `${what} not valid YAML: line ${line}, column ${col}: ${expected}; found ${JSON.stringify(lineText.slice(0, 80))}`,
    );
  };
  let value: unknown;
  try {
    const document = parseDocument(text, { merge: true, lineCounter, prettyErrors: false });
    const [first] = document.errors;
    if (first !== undefined) throw wrong(first.pos[0], expectations[first.code] ?? usual);
    value = document.toJS();
  } catch (error) {
    if (error instanceof RangeError) throw new InputError(`${what} not usable: it is nested too deeply`);
    if (error instanceof InputError || !(error instanceof Error)) throw error;
    // The parser notices some mistakes only now.
    const [, alias] = /^Unresolved alias .*: (\S+)$/.exec(error.message) ?? [];
    if (alias !== undefined)
      throw wrong(
        text.indexOf(`*${alias}`),
        `*${alias} stands for what &${alias} names above it, and nothing is named so`,
      );
    if (error.message.startsWith('Excessive alias'))
      throw new InputError(`${what} not usable: its aliases multiply; write out what they stand for`);
    throw wrong(text.indexOf('<<'), '<< takes a map, or an alias of one');
  }
  if (refersToItself(value, [])) throw new InputError(`${what} not usable: an anchor in it contains its own alias`);
  return value;
}

const usual = 'expected "key: value" on each line, lists as [a, b], and quotes around texts with other signs';

/** The expectation behind a parser error, by its code. */
const expectations: Partial<Record<YAMLError['code'], string>> = {
  BAD_DQ_ESCAPE: 'in double quotes \\ begins an escape; write \\\\, or use single quotes',
  BAD_INDENT: 'expected a closing ] or }, or what belongs to a key two spaces further right than the key',
  BAD_SCALAR_START: 'expected quotes around a text that begins with @, ` or another sign',
  BLOCK_AS_IMPLICIT_KEY:
    'expected one "key: value" in a line, with quotes around a value that has a colon, and the keys of a map in one column',
  DUPLICATE_KEY: 'expected each key once in a map',
  MISSING_CHAR: 'expected a closing quote or bracket, or a colon and a space behind a key',
  MULTILINE_IMPLICIT_KEY: 'expected "key: value" on each line',
  MULTIPLE_DOCS: 'expected a single document, without --- in it',
  TAB_AS_INDENT: 'expected spaces before the first sign, not a tab',
  UNEXPECTED_TOKEN: 'expected either "key: value" on each line, or "- value" on each',
};

function refersToItself(value: unknown, within: readonly unknown[]): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (within.includes(value)) return true;
  return Object.values(value).some((each) => refersToItself(each, [...within, value]));
}
