import { createInterface } from 'node:readline';
import { InputError } from '../../src/errors.ts';
import { wrapped } from '../report/terminal-text.ts';
import { proseWidth, type Terminal } from './terminal.ts';

interface Prompt {
  /** The answer that an option gave; nothing is asked then. */
  readonly option?: string | undefined;
  readonly choices?: readonly string[];
  /** Explains choices whose names are not enough. */
  readonly meanings?: Readonly<Record<string, string>>;
  /** The answer for an empty line; the first choice by default. */
  readonly fallback?: string;
  /** The answer to `?`. */
  readonly explanation: string;
  /** Throws an InputError for an invalid answer. */
  readonly check?: (answer: string) => unknown;
}

/** Asks a question. @throws InputError for an invalid option, or if stdin ends before the answer */
export type Ask = ReturnType<typeof questions>;

/**
 * Asks on stderr and reads lines of stdin, from a person or a pipe. `?` prints an explanation.
 * @param options.yes takes every default instead
 */
export function questions(terminal: Terminal, { yes }: { yes: boolean }) {
  const { stdin, stderr } = terminal;
  const width = proseWidth(terminal);
  const reader = yes ? null : createInterface({ input: stdin });
  const lines = reader?.[Symbol.asyncIterator]();
  const ask = async (question: string, prompt: Prompt): Promise<string> => {
    const { option, choices, fallback = choices?.[0] ?? '', explanation, meanings = {} } = prompt;
    if (option !== undefined || lines === undefined) {
      const answer = option ?? fallback;
      const problem = await problemOf(answer, prompt);
      if (problem === null) return answer;
      throw new InputError(choices?.includes(answer) === false ? `${question}? ${problem}` : problem);
    }
    const shown = choices?.map((choice) =>
      wrapped(`  ${choice}${choice in meanings ? `: ${meanings[choice]}` : ''}`, { width, indent: '    ' }),
    );
    const between = shown === undefined ? ' ' : `\n${shown.join('\n')}\n`;
    stderr.write(`${wrapped(`${question}?`, { width })}${between}[${fallback}; ? explains] `);
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new InputError('no answer; give the answers as options, or --yes to take the defaults');
      const answer = String(value).trim() || fallback;
      const problem = answer === '?' ? null : await problemOf(answer, prompt);
      if (answer !== '?' && problem === null) return answer;
      stderr.write(`${wrapped(problem === null ? explanation : `${problem}.`, { width })}\n[${fallback}] `);
    }
  };
  return Object.assign(ask, { close: () => reader?.close() });
}

async function problemOf(answer: string, { choices, check }: Prompt): Promise<string | null> {
  if (choices !== undefined && !choices.includes(answer))
    return `${JSON.stringify(answer)} is none of ${choices.join(', ')}`;
  try {
    await check?.(answer);
    return null;
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}
