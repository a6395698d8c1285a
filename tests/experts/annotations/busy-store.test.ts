import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { AnnotationDatabase } from '../../../experts/annotations/database.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

/** Holds the file as another process does that changes it first, until it is told to stop and a little longer. */
const holder = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require('libsql');
  const database = new Database(workerData);
  database.exec('BEGIN IMMEDIATE');
  parentPort.postMessage('holds');
  parentPort.once('message', () => setTimeout(() => database.close(), 50));
`;

it('is opened though another process changes a new file at the same moment', async () => {
  const path = join(temporaryFolder(), 'new.sqlite');
  const other = new Worker(holder, { eval: true, workerData: path });
  await once(other, 'message');
  other.postMessage('stop');
  const database = new AnnotationDatabase(path);
  expect(database.read('SELECT key FROM annotation', [], z.unknown())).toEqual([]);
  database.close();
  await once(other, 'exit');
});
