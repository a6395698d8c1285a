import { createInterface } from 'node:readline';
import { InputError } from '../../src/errors.ts';
import { wrapped } from '../report/terminal-text.ts';
import { proseWidth, type Terminal } from './terminal.ts';

interface Prompt {
  readonly choices?: readonly string[];
  /** Explains choices whose names are not enough. */
  readonly meanings?: Readonly<Record<string, string>>;
  /** The answer for an empty line; the first choice by default. */
  readonly fallback?: string;
  /** The answer to `?`. */
  readonly explanation: string;
  /** Throws an InputError for an invalid answer. */
  readonly check?: (answer: string) => Promise<unknown>;
}

async function problemOf(
  answer: string,
  { choices, check }: Pick<Prompt, 'choices' | 'check'>,
): Promise<string | null> {
  if (choices !== undefined && !choices.includes(answer))
    return `${JSON.stringify(answer)} is none of ${choices.join(', ')}.`;
  try {
    await check?.(answer);
    return null;
  } catch (error) {
    if (error instanceof InputError) return `${error.message}.`;
    throw error;
  }
}

/** Answers every question with its default. */
export function defaults(): ReturnType<typeof questions> {
  const ask = async (_question: string, { choices, fallback = choices?.[0] ?? '' }: Prompt) => fallback;
  return Object.assign(ask, { close: () => {} });
}

/**
 * Asks on stderr and reads lines of stdin, from a person or a pipe. `?` prints an explanation.
 * @throws InputError if stdin ends before the answer
 */
export function questions(terminal: Terminal) {
  const { stdin, stderr } = terminal;
  const width = proseWidth(terminal);
  const reader = createInterface({ input: stdin });
  const lines = reader[Symbol.asyncIterator]();
  const ask = async (
    question: string,
    { choices, fallback = choices?.[0], explanation, check, meanings = {} }: Prompt,
  ): Promise<string> => {
    const options =
      choices === undefined
        ? ''
        : `\n${choices.map((choice) => wrapped(`  ${choice}${choice in meanings ? `: ${meanings[choice]}` : ''}`, { width, indent: '    ' })).join('\n')}\n`;
    const prompt = `${options === '' ? ' ' : ''}[${fallback}; ? explains] `;
    stderr.write(`${wrapped(`${question}?`, { width })}${options}${prompt}`);
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new InputError('no answer; give the answers as options, or --yes to take the defaults');
      const answer = String(value).trim() || (fallback ?? '');
      const said = answer === '?' ? explanation : await problemOf(answer, { choices, check });
      if (said === null) return answer;
      stderr.write(`${wrapped(said, { width })}\n[${fallback}] `);
    }
  };
  return Object.assign(ask, { close: () => reader.close() });
}
