import { Readable, Writable } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { commandLine } from '../../experiments/cli/main.ts';
import { schemasByFile } from '../../experiments/cli/options.ts';
import { optionLines } from '../../experiments/config/option-lines.ts';
import { markdown, textOf } from './pages.ts';

const pages = ['README.md', 'CONTRIBUTING.md', ...markdown('docs'), ...markdown('experiments/results')];

const LONGEST_SENTENCE_WORDS = 40;

/** The words of a page without code, addresses and HTML: a line for each paragraph, item, heading and cell. */
function proseOf(text: string): string[] {
  const words = text
    .replace(/^```.*?^```/gms, '\n')
    .replace(/`[^`\n]+`/g, 'X')
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, '$1')
    .replace(/<[^>\n]+>/g, '\n\n')
    .replace(/[*_]+/g, '')
    .replace(/\\\|/g, '/')
    .replace(/^\|(.*)\|$/gm, (_, row: string) => `\n\n${row.replaceAll('|', '\n\n')}\n\n`)
    .replace(/^(#+|>|\s*(-|\d+\.)) /gm, '\n\n');
  return words.split(/\n\s*\n/).map((line) => line.replace(/\s+/g, ' ').trim());
}

const sentencesOf = (line: string) => line.split(/(?<=[.!?]["”)]*) (?=\S)/);
const wordsOf = (sentence: string) => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** Words that stop a reader, and what to write instead. */
const banned: readonly (readonly [RegExp, string])[] = [
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\bnobody\b/i, 'no one'],
  [/\banew\b/i, 'again'],
  [/\bwho(so)?ever\b/i, 'users who'],
  [/\bverdicts?\b/i, 'prediction, or conclusion of a report'],
  [/\bpromises?\b/i, 'guarantee'],
  [/\bmachine labels?\b/i, 'weak labels'],
  [/\blabel-aware bound\b/i, 'oracle'],
  [/\boptimum of the stream\b/i, 'Bayes-optimal rule'],
  [/\bexact return\b/i, 'exact policy gradient'],
  [/\btwins?\b/i, 'standalone run'],
  [/\bfresh threads?\b/i, 'held-out threads'],
  [/\bcalls of the detector\b/i, 'queries'],
  [/\bas (early|many|often) as\b|\brules? as early\b/i, 'at the same earliness, or with the same query budget'],
  [
    /\b(rows?|lines?|calls?|dots?|folds?|models?|posts?|times) an? (post|thread|run|seed|trial|day|class|iteration)\b/i,
    'per',
  ],
  [
    /\b(page|report|file|command|message|server|table|program|log|detector|model)s? (says?|said|tells?|told|knows?|knew|asks?)\b/i,
    'prints, reports or shows',
  ],
  [/\d %/, '14%, without a space'],
];

/** What is written in other words than the field's. */
function foundIn(lines: readonly string[]): string[] {
  return banned.flatMap(([word, better]) =>
    lines.flatMap((line) => {
      const at = line.search(word);
      return at < 0 ? [] : [`${line.slice(Math.max(0, at - 30), at + 40)}: write ${better}`];
    }),
  );
}

describe.each(pages)('%s', (page) => {
  const lines = proseOf(textOf(page));

  it('has sentences of at most 40 words', () => {
    const long = lines.flatMap(sentencesOf).filter((sentence) => wordsOf(sentence) > LONGEST_SENTENCE_WORDS);
    expect(long).toEqual([]);
  });

  it('uses the words of the field', () => {
    expect(foundIn(lines)).toEqual([]);
  });
});

/** The help of a command and of those within it. */
function helpOf(command: CommandUnknownOpts): string[] {
  const help: string[] = [];
  command.configureOutput({ writeOut: (text) => void help.push(text), getOutHelpWidth: () => 1000 }).outputHelp();
  return [help.join(''), ...command.commands.flatMap(helpOf)];
}

it('is written by the help of every command, and of every option of a file', async () => {
  const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  const program = await commandLine({
    words: [],
    stdin: Readable.from([]),
    stdout: nowhere(),
    stderr: nowhere(),
    interruptSignal: () => new AbortController().signal,
    onHangUp: () => () => {},
  });
  const help = helpOf(program).flatMap((text) => text.split('\n\n').map((line) => line.replace(/\s+/g, ' ')));
  expect(help.length).toBeGreaterThan(80);
  expect(foundIn(help)).toEqual([]);
  for (const schema of Object.values(schemasByFile()))
    expect(foundIn(optionLines(await schema()).map(({ description }) => description))).toEqual([]);
});

it('would find what it looks for', () => {
  const [line] = proseOf('Nobody\nmends `a verdict` for 14 % of the\n[posts](x).');
  expect(line).toBe('Nobody mends X for 14 % of the posts.');
  expect(banned.filter(([word]) => word.test(line))).toHaveLength(3);
  expect(sentencesOf('One two. Three: four?').map(wordsOf)).toEqual([2, 2]);
});
