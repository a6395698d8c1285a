import { join } from 'node:path';
import { Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openProgress } from '../../../experiments/cli/progress.ts';
import { drawnStream, type Terminal, visibleTerminal } from '../../../experiments/cli/terminal.ts';
import { visibleText } from '../../../experiments/report/terminal-text.ts';
import { keyOf } from '../../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

/** Escape sequences, a bell, C1 controls, a return, and characters that turn the order of others. */
const hostile = '\u001b]0;pwned\u0007 \u001b[2J\u009b31m \r \u202eevil\u2066 \u200f\u2028\u007f';
const obeyed = /(?![\t\n])\p{Cc}|[\u2028\u2029\p{Bidi_Control}]/u;

describe('a text of others', () => {
  it('is shown with its control characters escaped', () => {
    expect(visibleText('a\u001b[31mred\u0007')).toBe('a\\u001b[31mred\\u0007');
    expect(visibleText('\u202eb\r\n\tc')).toBe('\\u202eb\\u000d\n\tc');
    expect(visibleText('Zürich 谣言 👩\u200d🚒 می\u200cخواهم')).toBe('Zürich 谣言 👩\u200d🚒 می\u200cخواهم');
  });

  it('means the same in JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = visibleText(JSON.stringify({ text }, null, 1));
        expect(JSON.parse(shown)).toEqual({ text });
        expect(shown).not.toMatch(obeyed);
        expect(visibleText(shown)).toBe(shown);
      }),
      { seed: 33, numRuns: 1000 },
    );
  });
});

class Screen extends Writable {
  readonly isTTY = true;
  readonly columns = 80;
  readonly rows = 24;
  text = '';

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

describe('a terminal', () => {
  const terminalOf = (screen: Screen): Terminal => ({
    words: [],
    get stdin(): never {
      throw new Error('standard input was opened');
    },
    stdout: screen,
    stderr: screen,
    interruptSignal: () => new AbortController().signal,
    onHangUp: () => () => {},
  });

  it('gets no control character from a text, and opens no input', () => {
    const screen = new Screen();
    const { stdout, stderr } = visibleTerminal(terminalOf(screen));
    stdout.write(`${hostile}\n`);
    stderr.write(`${hostile}\n`);
    expect(screen.text).not.toMatch(obeyed);
    expect(screen.text.split('\n')).toHaveLength(3);
    expect([stderr.columns, stderr.rows, stderr.isTTY]).toEqual([80, 24, true]);
    expect(() => visibleTerminal(terminalOf(screen)).stdin).toThrow('standard input was opened');
  });

  it('lets the live view draw, whose texts are shown like all others', () => {
    const screen = new Screen();
    const { stderr } = visibleTerminal(terminalOf(screen));
    expect(drawnStream(stderr)).toBe(screen);
    const { line, note, stop } = openProgress({ stderr });
    line('\u001b[2Jevil\u202e').see('trials', { done: 1, total: 2 });
    note(hostile);
    stop();
    expect(screen.text).toContain('\\u001b[2Jevil\\u202e: 1/2');
    expect(screen.text).toContain('\u001b[');
    for (const part of ['\u001b[2J', '\u001b]0', '\u0007', '\u009b', '\u202e']) expect(screen.text).not.toContain(part);
  });
});

describe('commands on threads of others', () => {
  const threads = Array.from({ length: 60 }, (_, index) => ({
    ...makeThread(`${hostile}${index}`),
    event: hostile,
    labels: { kind: index % 2 === 0 ? `a${hostile}` : `b${hostile}`, [hostile]: 'x' },
    posts: [
      { id: `${hostile}${index}`, text: hostile },
      { id: 'r', text: `reply ${hostile} ${index}` },
    ],
  }));
  const files = {
    'threads.jsonl': threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''),
    'bad.jsonl': `${JSON.stringify({ ...threads[0], veracity: hostile })}\n`,
  };

  it.each([
    ['data', 'describe', 'threads.jsonl'],
    ['data', 'describe', 'threads.jsonl', '--json'],
    ['data', 'describe', 'bad.jsonl'],
    ['data', 'import', 'threads', 'threads.jsonl', '--out', 'out.jsonl'],
    ['data', 'import', 'threads', 'bad.jsonl', '--skip-invalid', '--out', 'out.jsonl'],
    ['init', 'threads.jsonl', '--yes', '--name', 'mine'],
    ['detect', 'threads.jsonl', '--train', '--task', hostile],
    ['decide', `${hostile}.jsonl`, '--policy', hostile],
  ])('%s %s print none of their control characters', async (...words) => {
    const { out, errors } = await earshot(words, { cwd: temporaryFolder(files) });
    expect(out + errors).not.toBe('');
    expect(out + errors).not.toMatch(obeyed);
  });

  it('annotations prints none, in lists, in what it shows and as JSON', async () => {
    const cwd = temporaryFolder({});
    const request = { detector: `d${hostile}`, version: '1', options: {}, input: [hostile, hostile], sampleIndex: 0 };
    const store = AnnotationStore.open(join(cwd, 'a.sqlite'));
    store.put({
      request,
      rawResponse: hostile,
      judgement: {
        label: hostile,
        probabilities: { [hostile]: 1 },
        explanation: hostile,
        transcript: [{ role: hostile, text: hostile }],
        usage: { requests: 1, inputTokens: 20, outputTokens: 3 },
      },
      latencyMs: null,
      threadId: hostile,
      prefixLength: 2,
    });
    store.close();
    const key = keyOf(request);
    for (const words of [
      ['list'],
      ['list', '--json'],
      ['stats'],
      ['show', key],
      ['show', key, '--json'],
      ['show', key, '--raw'],
    ]) {
      const { code, out, errors } = await earshot(['annotations', words[0] ?? '', 'a.sqlite', ...words.slice(1)], {
        cwd,
      });
      expect(code, errors).toBe(0);
      expect(out + errors).not.toMatch(obeyed);
    }
  });
});
