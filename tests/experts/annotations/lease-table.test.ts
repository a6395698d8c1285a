import { spawn } from 'node:child_process';
import { once } from 'node:events';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { AnnotationDatabase } from '../../../experts/annotations/database.ts';
import { type LeaseTable, leaseTable } from '../../../experts/annotations/lease-table.ts';
import { ownIdentity, type ProcessIdentity, storeOwner } from '../../../experts/annotations/store-owner.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0).reverse()) each.close();
});

const newPath = () => `${temporaryFolder()}/judged.sqlite`;

/** The leases that a process of this identity takes in a store. */
function leasesOf(path: string, more: Partial<ProcessIdentity> = {}): LeaseTable {
  const database = new AnnotationDatabase(path);
  const owner = storeOwner(database, { ...ownIdentity(), ...more });
  const table = leaseTable(database, owner);
  opened.push(database, owner, table);
  return table;
}

function run(path: string, sql: string): void {
  const database = new Database(path);
  database.exec(sql);
  database.close();
}

/** Larger than any that a system gives. */
const nobody = 4_194_305;

describe('leases', () => {
  it('belong to one at a time, until they are released or closed', () => {
    const path = newPath();
    const [one, other] = [leasesOf(path), leasesOf(path)];
    expect(['a', 'b'].map(one.take)).toEqual([true, true]);
    expect(['a', 'c'].map(other.take)).toEqual([false, true]);
    // Who else asks in this process waits like any other.
    expect(one.take('a')).toBe(false);
    for (const key of ['a', 'c']) one.release(key);
    expect(['a', 'b'].map(other.take)).toEqual([true, false]);
    expect(one.take('c')).toBe(false);
    one.close();
    expect(other.take('b')).toBe(true);
  });

  it('end with the transaction that stores the judgement', () => {
    const path = newPath();
    const store = AnnotationStore.open(path);
    opened.push(store);
    const request = { detector: 'd', version: '1', options: {}, input: 'i', sampleIndex: 0 };
    const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
    const judgement = { label: 'rumor', probabilities: null, explanation: '', transcript: [], usage };
    const key = store.keyOf(request);
    store.leases?.take(key);
    const other = leasesOf(path);
    expect(other.take(key)).toBe(false);
    store.put({ request, judgement, rawResponse: null, latencyMs: 1, threadId: 't', prefixLength: 1 });
    expect(other.take(key)).toBe(true);
  });

  const { place } = ownIdentity();
  it.each([
    ['who died', 'UPDATE lease_owner SET pid = 4194305'],
    ['who is elsewhere and did not renew them', `UPDATE lease_owner SET place = 'elsewhere', expires = 1`],
    ['who hangs and did not renew them', 'UPDATE lease_owner SET expires = 1'],
    ['of whom there is no row', 'DELETE FROM lease_owner'],
  ])('pass at once from one %s', (_name, sql) => {
    const path = newPath();
    const keys = ['a', 'b', 'c'];
    expect(keys.map(leasesOf(path).take)).toEqual([true, true, true]);
    const other = leasesOf(path);
    expect(keys.map(other.take)).toEqual([false, false, false]);
    run(path, sql);
    expect(keys.map(other.take)).toEqual([true, true, true]);
  });

  it.each([
    ['on another boot of a host of the same name', place.replace(/ [0-9a-f-]{36} /, ' 0-another-boot-0 ')],
    ['in another namespace of processes', place.replace(/pid:\[\d+\]/, 'pid:[1]')],
    ['on another host', `another-${place}`],
  ])('do not pass from one who lives %s, whether its number means a process here or not', (_name, elsewhere) => {
    for (const pid of [process.pid, nobody]) {
      const path = newPath();
      leasesOf(path, { place: elsewhere, pid }).take('a');
      expect(leasesOf(path).take('a')).toBe(false);
      run(path, 'UPDATE lease_owner SET expires = 1');
      expect(leasesOf(path).take('a')).toBe(true);
    }
  });

  it('pass at once from a process that was killed', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const path = newPath();
    leasesOf(path, { pid: child.pid }).take('a');
    expect(leasesOf(path).take('a')).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(leasesOf(path).take('a')).toBe(true);
  });

  it('are taken in a store whose table of owners has the column of earlier versions', () => {
    const path = newPath();
    leasesOf(path).take('a');
    run(path, 'ALTER TABLE lease_owner ADD COLUMN started TEXT');
    const other = leasesOf(path);
    expect(['a', 'b'].map(other.take)).toEqual([false, true]);
  });

  it.skipIf(process.platform !== 'linux')('name the boot and the namespace of the owner beside the host', () => {
    expect(place).toMatch(/^\S+ [0-9a-f-]{36} pid:\[\d+\]$/);
  });

  it('are renewed whenever more of them are taken, also by one whose row was taken away', () => {
    const path = newPath();
    const one = leasesOf(path);
    one.take('a');
    run(path, 'DELETE FROM lease_owner');
    one.take('b');
    expect(['a', 'b'].map(leasesOf(path).take)).toEqual([false, false]);
  });
});
