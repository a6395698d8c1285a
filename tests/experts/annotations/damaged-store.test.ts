import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import type { AnnotationRow } from '../../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { InputError } from '../../../src/errors.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const row: AnnotationRow = {
  request: { detector: 'd', version: '1', options: {}, input: ['a', 'b'], sampleIndex: 0 },
  rawResponse: null,
  judgement: {
    label: 'rumor',
    probabilities: null,
    explanation: '',
    transcript: [],
    usage: { requests: 1, inputTokens: 2, outputTokens: 3 },
  },
  latencyMs: 1,
  threadId: 't',
  prefixLength: 2,
};

function storeWithOneRow(): { path: string; key: string } {
  const path = join(temporaryFolder(), 'judged.sqlite');
  const store = AnnotationStore.open(path);
  store.put(row);
  store.close();
  return { path, key: store.keyOf(row.request) };
}

describe('a damaged row', () => {
  it.each([
    ['a judgement that is no JSON', "UPDATE annotation SET judgement = '{\"label'"],
    ['a judgement that is none', "UPDATE annotation SET judgement = '{}'"],
    ['a judgement of null', "UPDATE annotation SET judgement = 'null'"],
    ['a request without its fragments', 'PRAGMA foreign_keys = OFF; DELETE FROM fragment'],
    ['a fragment that is no JSON', "UPDATE fragment SET json = '['"],
  ])('%s is told in a sentence', (_name, damage) => {
    const { path, key } = storeWithOneRow();
    const database = new Database(path);
    database.exec(damage);
    database.close();
    const store = AnnotationStore.open(path);
    const read = () => [...store.getMany([key]).values(), ...store.getRows([key]).values()];
    expect(read).toThrow(InputError);
    expect(read).toThrow(/judged\.sqlite holds a damaged row; restore it from an export or a copy \(/);
    store.close();
  });
});

// Permissions do not stop root.
describe.skipIf(process.getuid?.() === 0 || process.platform === 'win32')('a store that cannot be written', () => {
  it('can be read, and says why it cannot be written', () => {
    const { path, key } = storeWithOneRow();
    chmodSync(path, 0o444);
    chmodSync(join(path, '..'), 0o555);
    try {
      const store = AnnotationStore.open(path);
      expect(store.getMany([key]).get(key)?.label).toBe('rumor');
      expect(store.stats().annotations).toBe(1);
      expect(store.responses.find({ judgement: key, call: 'c' })).toBeNull();
      const write = () => store.put({ ...row, prefixLength: 1, request: { ...row.request, input: ['a'] } });
      expect(write).toThrow(/judged\.sqlite: the file or its folder is read-only, so it can be read but not written/);
      store.close();
    } finally {
      chmodSync(join(path, '..'), 0o755);
    }
  });
});
