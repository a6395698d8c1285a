import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import { InputError } from '../../../src/errors.ts';
import { collect, temporaryFolder } from './fixtures.ts';

const rows = 40;
const each = <Value>(of: (row: number) => Value) => Array.from({ length: rows }, (_, row) => of(row));
const whole = Buffer.from(
  parquetWriteBuffer({
    columnData: [
      { name: 'thread_id', data: each((row) => `t${row % 8}`), type: 'STRING' },
      { name: 'post_id', data: each((row) => BigInt(row)), type: 'INT64' },
      { name: 'text', data: each((row) => (row % 9 === 0 ? null : `text of ${row}`)), type: 'STRING' },
      { name: 'label', data: each((row) => row % 2 === 0), type: 'BOOLEAN' },
    ],
  }),
);

async function threadsIn(bytes: Buffer) {
  const folder = temporaryFolder({ 'posts.parquet': bytes });
  return collect(importThreads('parquet', { paths: [`${folder}/posts.parquet`] }));
}

it('reads a whole file', async () => {
  expect(await threadsIn(whole)).toHaveLength(8);
});

// Some of these kept the library busy without end, and others ended the process.
it('reads or refuses a file with a flipped bit, wherever it is', async () => {
  let refused = 0;
  for (let at = 4; at < whole.length - 4; at += 3) {
    const bytes = Buffer.from(whole);
    bytes[at] ^= 1 << (at % 8);
    await threadsIn(bytes).catch((error) => {
      expect(error).toBeInstanceOf(InputError);
      refused++;
    });
  }
  expect(refused).toBeGreaterThan(100);
});

it('names the column whose pages are not those of the metadata', async () => {
  const bytes = Buffer.from(whole);
  // The number of values stands behind the codec, in zigzag.
  const at = bytes.lastIndexOf(Buffer.from('thread_id')) + 'thread_id'.length;
  const place = bytes.indexOf(2 * rows, at);
  bytes[place] = 2 * (rows - 1);
  await expect(threadsIn(bytes)).rejects.toThrow(
    /cannot be read as Parquet: the column thread_id has \d+ values instead/,
  );
});

it('keeps a text that is no JSON in a column of JSON', async () => {
  const columnData = [
    { name: 'thread_id', data: ['t'], type: 'STRING' as const },
    { name: 'text', data: ['some text'], type: 'JSON' as const },
  ];
  const bytes = Buffer.from(parquetWriteBuffer({ columnData })).toString('latin1');
  expect(bytes).toContain('"some text"');
  const [thread] = await threadsIn(Buffer.from(bytes.replaceAll('"some text"', '{some text"'), 'latin1'));
  expect(thread.posts[0].text).toBe('{some text"');
});
