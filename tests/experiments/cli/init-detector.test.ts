import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { startServer } from '../../experts/llm/service.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

const init = ['init', '--detector'];
const said = 'Nobody confirms it.\nYes';

it('asks where a model is, makes one call, and writes a detector file that annotate takes', async () => {
  const server = await startServer(() => said);
  const cwd = temporaryFolder({});
  const stdin = Readable.from(['nowhere\n', `${server.baseURL}\n`, 'EARSHOT_TEST_NO_KEY\nnone\n', 'tiny\n']);
  const made = await earshot(init, { cwd, stdin });
  expect(made.code, made.errors).toBe(0);
  expect(made.errors).toContain('"nowhere" cannot be the baseURL: it must be an http(s) address');
  expect(made.errors.replaceAll('\n', ' ')).toContain('variable EARSHOT_TEST_NO_KEY, which is not set; set it.');
  expect(made.out).toMatch(
    /^Asked about "BREAKING: .*", it said rumor: Nobody confirms it\.\n.*\nWrote detector\.yaml\.\n/,
  );
  expect(server.requests).toHaveLength(1);
  const judged = ['annotate', '-', '--detector', 'detector.yaml'];
  const { out } = await earshot(judged, { cwd, stdin: Readable.from(['It is gone!']) });
  expect(out).toMatch(/^Label: rumor\nReason: Nobody confirms it\.\nCost: /);
  expect(existsSync(join(cwd, 'judged.sqlite'))).toBe(false);
  expect((await earshot(init, { cwd })).errors).toMatch(
    /detector\.yaml exists already; give another --out, or --force/,
  );
});

it('takes every answer as an option, and writes nothing where the call fails', async () => {
  const server = await startServer(() => said);
  const cwd = temporaryFolder({});
  const at = ['--base-url', server.baseURL, '--model', 'tiny', '--api-key-env', 'none', '--task', 'veracity'];
  const failed = await earshot([...init, ...at, '--out', 'mine.yaml'], { cwd });
  expect(failed.code).toBe(2);
  expect(failed.errors).toMatch(
    /could not be judged, so nothing was written; --no-test writes the file .*answered twice/,
  );
  expect(existsSync(join(cwd, 'mine.yaml'))).toBe(false);
  const written = await earshot([...init, ...at, '--out', 'mine.yaml', '--no-test', '--json'], { cwd });
  expect(JSON.parse(written.out)).toEqual({ file: 'mine.yaml', judgement: null, sent: [] });
  expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toMatch(/\n {4}model: tiny\ntask: veracity\n/);
  const mixed = [...init, ...at, '--out', 'other.yaml'];
  expect((await earshot([...mixed, '--goal', 'best-f1'], { cwd })).errors).toMatch(
    /^earshot: --goal is for an experiment;/,
  );
  const valued = ['init', 'threads.jsonl', '--detector', 'local', '--model', 'tiny'];
  expect((await earshot(valued, { cwd })).errors).toMatch(/^earshot: --model is for --detector without a value\n/);
  const nobody = ['--base-url', 'http://127.0.0.1:9/v1', '--yes'];
  expect((await earshot([...init, ...nobody], { cwd })).errors).toMatch(
    /could not be reached .*, so nothing was written; --no-test writes the file\n$/,
  );
});
