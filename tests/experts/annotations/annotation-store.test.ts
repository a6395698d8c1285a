import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { type AnnotationRequest, type AnnotationRow, keyOf } from '../../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import type { ChatRequest } from '../../../experts/llm/chat.ts';
import { InputError } from '../../../src/errors.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'earshot-store-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const request: AnnotationRequest = {
  detector: 'local',
  version: '1',
  options: { model: 'a', sampling: { temperature: 0.2, seed: 1 } },
  input: ['claim', 'reply'],
  sampleIndex: 0,
};

function rowOf(overrides: Partial<AnnotationRequest> = {}): AnnotationRow {
  const full = { ...request, ...overrides };
  return {
    request: full,
    rawResponse: 'Yes.',
    judgement: {
      label: 'rumor',
      probabilities: { rumor: 0.75, 'non-rumor': 0.25 },
      explanation: 'because ‘it’ — 谣言',
      transcript: [{ role: 'judge', text: 'Yes.' }],
      usage: { requests: 1, inputTokens: 20, outputTokens: 3 },
    },
    latencyMs: 12.5,
    threadId: 't1',
    prefixLength: Array.isArray(full.input) ? full.input.length : 1,
  };
}

describe('keyOf', () => {
  it('changes with every part of a request', () => {
    const keys = [
      request,
      { ...request, detector: 'other' },
      { ...request, version: '2' },
      { ...request, options: { ...request.options, model: 'b' } },
      { ...request, options: { model: 'a', sampling: { temperature: 0.3, seed: 1 } } },
      { ...request, input: ['claim'] },
      { ...request, input: ['reply', 'claim'] },
      { ...request, input: ['claim\nreply'] },
      { ...request, sampleIndex: 1 },
    ].map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('does not change with the order of keys, nor with where the prefix came from', () => {
    const reordered = JSON.parse(
      '{"sampleIndex":0,"input":["claim","reply"],"options":{"sampling":{"seed":1,"temperature":0.2},"model":"a"},"version":"1","detector":"local"}',
    );
    expect(keyOf(reordered)).toBe(keyOf(request));
    expect(keyOf(Object.assign({ threadId: 'x', date: 'y' }, request))).toBe(keyOf(request));
    expect(keyOf(request)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('AnnotationStore', () => {
  it('gives back what was put, and keeps the first answer', () => {
    const path = join(directory, 'deep', 'annotations.sqlite');
    const store = AnnotationStore.open(path);
    const row = rowOf();
    expect(store.put(row)).toBe(true);
    expect(store.put({ ...row, judgement: { ...row.judgement, label: 'non-rumor' } })).toBe(false);
    store.close();

    const again = AnnotationStore.open(path);
    const key = keyOf(request);
    expect(again.getMany([key, 'unknown'])).toEqual(new Map([[key, row.judgement]]));
    const stored = again.getRows([key]).get(key);
    expect(stored).toMatchObject(row);
    expect(stored?.date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(again.stats()).toMatchObject({
      annotations: 1,
      byDetector: [
        {
          detector: 'local',
          annotations: 1,
          threads: 1,
          requests: 1,
          inputTokens: 20,
          outputTokens: 3,
          cost: null,
          seconds: (row.latencyMs ?? 0) / 1000,
        },
      ],
    });
    again.close();
  });

  it('is whole in its one file after closing', () => {
    const store = AnnotationStore.open(join(directory, 'a.sqlite'));
    store.put(rowOf());
    store.close();
    copyFileSync(join(directory, 'a.sqlite'), join(directory, 'b.sqlite'));
    const copy = AnnotationStore.open(join(directory, 'b.sqlite'));
    expect(copy.keys()).toEqual([keyOf(request)]);
    copy.close();
  });

  it('rebuilds every request of growing, diverging and non-list inputs', () => {
    const store = AnnotationStore.open(':memory:');
    const inputs = [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'x'], [], 'a', { text: 'a', time: null }, [['a'], null]];
    const rows = inputs.map((input) => rowOf({ input }));
    store.putMany(rows);
    const stored = store.getRows(rows.map((row) => keyOf(row.request)));
    for (const row of rows) expect(stored.get(keyOf(row.request))?.request).toEqual(row.request);
    store.close();
  });

  it('reads many judgements in one statement, which finds its rows by the index of keys', () => {
    const path = join(directory, 'large.sqlite');
    const store = AnnotationStore.open(path);
    const rows = Array.from({ length: 2500 }, (_, index) => rowOf({ input: [`post ${index}`] }));
    store.putMany(rows);
    const prepare = vi.spyOn(Database.prototype, 'prepare');
    expect(store.getMany(rows.map((row) => keyOf(row.request))).size).toBe(2500);
    expect(store.getMany(rows.slice(0, 7).map((row) => keyOf(row.request))).size).toBe(7);
    const [[select], ...others] = prepare.mock.calls;
    prepare.mockRestore();
    expect(others).toEqual([]);

    const database = new Database(path);
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${select}`).all('[]');
    expect(JSON.stringify(plan)).toMatch(/SEARCH annotation USING INDEX \w+ \(key=\?\)/);
    database.close();
    store.close();
  });

  it('ends with one row a key when two processes write the same at once', async () => {
    const path = join(directory, 'shared.sqlite');
    const script = `
      import { AnnotationStore } from ${JSON.stringify(join(inject('compiledProgram'), 'experts/annotations/annotation-store.js'))};
      const store = AnnotationStore.open(process.argv[1]);
      let added = 0;
      for (let batch = 0; batch < 60; batch++)
        added += store.putMany(Array.from({ length: 10 }, (_, index) => ({
          ...${JSON.stringify(rowOf())},
          request: { ...${JSON.stringify(request)}, input: ['post ' + batch, 'reply ' + index] },
        })));
      store.close();
      console.log(added);`;
    const write = async () => {
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script, path]);
      return Number(stdout);
    };
    const added = await Promise.all([write(), write()]);
    const store = AnnotationStore.open(path);
    expect(added[0] + added[1]).toBe(600);
    expect(store.stats().annotations).toBe(600);
    expect(store.getRows(store.keys()).size).toBe(600);
    store.close();
  });

  it.each(['annotations.jsonl', 'annotations.jsonl.gz'])('exports to %s and imports all of it, once', async (name) => {
    const path = join(directory, name);
    const from = AnnotationStore.open(':memory:');
    from.putMany(Array.from({ length: 1200 }, (_, index) => rowOf({ input: ['claim', `reply ${index}`] })));
    expect(await from.export(path)).toBe(1200);

    const into = AnnotationStore.open(':memory:');
    into.put(rowOf({ input: ['claim', 'reply 7'] }));
    expect(await into.import(path)).toEqual({ read: 1200, added: 1199 });
    expect(await into.import(path)).toEqual({ read: 1200, added: 0 });
    expect(into.keys()).toEqual(from.keys());
    const [key] = from.keys();
    expect(into.getRows([key])).toEqual(from.getRows([key]));
    await into.export(join(directory, 'again.jsonl'));
    if (!name.endsWith('.gz')) {
      const lines = (file: string) => readFileSync(file, 'utf8').split('\n').length;
      expect(lines(join(directory, 'again.jsonl'))).toBe(lines(path));
    }
    from.close();
    into.close();
  });

  it('names the line of an import that is not as it was exported', async () => {
    const path = join(directory, 'annotations.jsonl');
    const store = AnnotationStore.open(':memory:');
    store.put(rowOf());
    await store.export(path);
    const line = readFileSync(path, 'utf8');
    writeFileSync(path, line + line.replace('"reply"', '"changed"'));
    await expect(store.import(path)).rejects.toThrow(/annotations\.jsonl:2: the key .* does not belong to its request/);
    writeFileSync(path, `${line}{"key":`);
    await expect(store.import(path)).rejects.toThrow(
      /annotations\.jsonl, line 2, was made by another version of Earshot, or is damaged \(it is not JSON: {"key":\): export/,
    );
    writeFileSync(path, line.replace('"label":"rumor"', '"label":7'));
    await expect(store.import(path)).rejects.toThrow(
      /annotations\.jsonl, line 1, was made by another version .*judgement\.label.*export the store again/,
    );
    await expect(store.import(join(directory, 'absent.jsonl'))).rejects.toThrow(/there is no .*absent\.jsonl/);
    await expect(store.export(join(path, 'x.jsonl'))).rejects.toThrow(InputError);
    expect(await store.export(join(directory, 'absent', 'x.jsonl'))).toBe(1);
    await AnnotationStore.open(':memory:').export(path);
    expect(await store.import(path)).toEqual({ read: 0, added: 0 });
    writeFileSync(join(directory, 'plain.jsonl.gz'), line);
    await expect(store.import(join(directory, 'plain.jsonl.gz'))).rejects.toThrow(
      /plain\.jsonl\.gz ends in \.gz but is not gzip/,
    );
    store.close();
  });

  it('refuses files that are no annotation store, and says so', () => {
    const text = join(directory, 'text.sqlite');
    writeFileSync(text, 'id,label\n'.repeat(1000));
    expect(() => AnnotationStore.open(text)).toThrow(InputError);
    expect(() => AnnotationStore.open(text)).toThrow(/text\.sqlite: it is damaged or not an SQLite file/);

    const foreign = join(directory, 'foreign.sqlite');
    const database = new Database(foreign);
    database.exec('CREATE TABLE friends (name)');
    database.close();
    expect(() => AnnotationStore.open(foreign)).toThrow(/is an SQLite database, but not an annotation store/);

    const newer = join(directory, 'newer.sqlite');
    AnnotationStore.open(newer).close();
    const raised = new Database(newer);
    raised.exec('PRAGMA user_version = 9');
    raised.close();
    expect(() => AnnotationStore.open(newer)).toThrow(
      /newer\.sqlite was made by another version of Earshot.*\(format 9, and this version reads 4\): run again/,
    );
  });

  it('says what is wrong with a damaged file, a folder, and a place it cannot write to', () => {
    const path = join(directory, 'damaged.sqlite');
    const store = AnnotationStore.open(path);
    store.putMany(Array.from({ length: 300 }, (_, index) => rowOf({ input: [`post ${index}`] })));
    const keys = store.keys();
    store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 4096);
    writeFileSync(path, bytes);
    expect(() => {
      const damaged = AnnotationStore.open(path);
      try {
        damaged.getMany(keys);
      } finally {
        damaged.close();
      }
    }).toThrow(InputError);
    expect(() => AnnotationStore.open(directory)).toThrow(/cannot be opened or read/);
    expect(() => AnnotationStore.open(join(path, 'below-a-file.sqlite'))).toThrow(InputError);
  });

  it.skipIf(!existsSync('/dev/full'))('says that the disk is full, and which', () => {
    expect(() => AnnotationStore.open('/dev/full')).toThrow(
      /^the annotation store \/dev\/full: the disk is full; free some space on the disk of \/dev, or move the store/,
    );
  });

  it('keeps the first answer to a call', () => {
    const store = AnnotationStore.open(':memory:');
    const call = { judgement: 'j', call: 'c' };
    const { responses } = store;
    const request = { endpoint: { model: 'asked' } } as ChatRequest;
    const usage = { requests: 1, inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 };
    const answer = { text: 'Yes', logprobs: null, usage, latencyMs: 1, finishReason: 'stop' };
    const keep = (body: string) =>
      responses.keep(call, {
        request,
        answer: { ...answer, response: { body, model: 'answered', fingerprint: 'fp' } },
      });
    const long = '{"a": "long body"}'.repeat(1000);
    expect([keep(long), keep('{}')]).toEqual([true, false]);
    expect(responses.find(call)?.body).toBe(long);
    responses.discard([call]);
    expect(responses.find(call)).toBeNull();
    expect(keep('{}')).toBe(true);
    expect(responses.of(['j'])).toMatchObject([
      { number: 1, isUsable: false, body: long, model: 'answered', askedModel: 'asked', fingerprint: 'fp' },
      { isUsable: true, body: '{}', finishReason: 'stop' },
    ]);
    store.close();
  });

  it('keeps answers in a store whose table of answers has the columns of earlier versions', () => {
    const path = join(directory, 'old.sqlite');
    AnnotationStore.open(path).close();
    const database = new Database(path);
    database.exec('ALTER TABLE response ADD COLUMN reader TEXT; ALTER TABLE response ADD COLUMN outcome TEXT');
    database.exec(
      `INSERT INTO response VALUES (NULL, 'j', 'old', 1, 'asked', NULL, NULL, 'stop', '{}', NULL, 'today', '{}', 'rumor')`,
    );
    database.close();
    const store = AnnotationStore.open(path);
    const { responses } = store;
    const request = { endpoint: { model: 'asked' } } as ChatRequest;
    const usage = { requests: 1, inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 };
    const answer = { text: 'Yes', logprobs: null, usage, latencyMs: 1, finishReason: 'stop' };
    expect(responses.keep({ judgement: 'j', call: 'new' }, { request, answer })).toBe(true);
    expect(responses.of(['j']).map(({ call }) => call)).toEqual(['old', 'new']);
    store.close();
  });
});
