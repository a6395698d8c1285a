import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import { collect, temporaryFolder } from './fixtures.ts';

async function importFrom(format: string, options: { files: Record<string, unknown>; skipInvalid?: boolean }) {
  const folder = temporaryFolder(options.files);
  const notes: string[] = [];
  const skipped: string[] = [];
  const threads = await collect(
    importThreads(format, {
      paths: [folder],
      skipInvalid: options.skipInvalid,
      onNote: (note) => notes.push(note),
      onSkipped: (line) => skipped.push(line),
    }),
  );
  return { threads, notes, skipped };
}

describe('fakenewsnet', () => {
  const header = 'id,news_url,title,tweet_ids';

  it('reads the CSV release, with the time of the first tweet', async () => {
    const fake = [
      header,
      'politifact1,http://a.example/1,"Senator ""sold"", then bought,\nthe moon",500308200000000000\t500308076004929537\r',
      'politifact2,http://a.example/2,No tweets here,',
      '',
    ];
    const { threads, notes } = await importFrom('fakenewsnet', {
      files: {
        'dataset/politifact_fake.csv': fake.join('\n'),
        'dataset/gossipcop_real.csv': `${header}\r\ng1,,They wed,500308076004929537\r\n`,
        'dataset/readme.csv': 'not,of,the,release',
      },
    });
    expect(threads).toEqual([
      expect.objectContaining({ id: 'g1', event: 'gossipcop', labels: { news: 'real' }, rumor: null, veracity: null }),
      expect.objectContaining({ id: 'politifact1', event: 'politifact', labels: { news: 'fake' } }),
      expect.objectContaining({ id: 'politifact2', labels: { news: 'fake' } }),
    ]);
    expect(threads[1].posts).toEqual([
      {
        id: 'politifact1',
        text: 'Senator "sold", then bought,\nthe moon',
        time: '2014-08-15T15:48:35.251Z',
        author: null,
        parent: null,
        stance: null,
      },
    ]);
    expect(threads[2].posts[0].time).toBeNull();
    expect(notes).toEqual([
      '3 articles have a title only',
      'the time of 2 articles is that of the first tweet that shared them',
      '1 articles have no time',
    ]);
  });

  it('reads downloaded articles and passes over the tweets beside them', async () => {
    const { threads, notes } = await importFrom('fakenewsnet', {
      files: {
        'politifact/fake/politifact9/news content.json': { title: 'T', text: 'Body.', publish_date: 1407628800 },
        'politifact/fake/politifact9/tweets/500308076004929537.json': '{',
        'politifact/real/politifact3/news content.json': { title: 'Only a title', text: '', publish_date: null },
        'politifact/real/politifact3/tweets/500308076004929537.json': '{',
      },
    });
    expect(threads.map(({ id, labels, posts: [{ text, time }] }) => ({ id, labels, text, time }))).toEqual([
      { id: 'politifact9', labels: { news: 'fake' }, text: 'T\nBody.', time: '2014-08-10T00:00:00.000Z' },
      { id: 'politifact3', labels: { news: 'real' }, text: 'Only a title', time: '2014-08-15T15:48:35.251Z' },
    ]);
    expect(notes).toHaveLength(2);
  });

  it('says what is wrong, and where', async () => {
    const fail = (text: string) => importFrom('fakenewsnet', { files: { 'politifact_fake.csv': text } });
    await expect(fail(`${header}\na,b,c`)).rejects.toThrow(
      /politifact_fake\.csv:2: must have 4 fields \(id, news_url, title, tweet_ids\), and has 3; found /,
    );
    await expect(fail(`${header}\na,b,"c,1`)).rejects.toThrow(':2: a quoted field has no end');
    await expect(fail(`${header}\na,b,,1`)).rejects.toThrow(':2 title: the article has no title');
    await expect(importFrom('fakenewsnet', { files: { 'other.csv': 'x' } })).rejects.toThrow(
      'no fakenewsnet threads found; fakenewsnet expects the CSV release',
    );
    const empty = { 'x/fake/a/news content.json': { title: ' ', text: null } };
    await expect(importFrom('fakenewsnet', { files: empty })).rejects.toThrow('has neither text nor title');
  });
});

describe('checkthat4a', () => {
  const header = 'index\ttext\tlabels';

  it('reads three labels a tweet, the parts apart', async () => {
    const { threads, notes } = await importFrom('checkthat4a', {
      files: {
        'ct_train.tsv': `${header}\n0\tMasks work, says "a" study\t[1.0, 1.0, 0.0]\n1\t"two\nlines"\t[0.0, 0.0, 0.0]\n`,
        'ct_test.tsv': 'index\ttext\n0\tno labels here\n',
      },
    });
    expect(threads).toEqual([
      expect.objectContaining({ id: 'test-0', split: 'test' }),
      expect.objectContaining({
        id: 'train-0',
        split: 'train',
        labels: { scientific_claim: true, scientific_reference: true, scientific_entities: false },
      }),
      expect.objectContaining({ id: 'train-1' }),
    ]);
    expect(threads[0].labels).toBeUndefined();
    expect(threads.map(({ posts }) => posts[0].text)).toEqual([
      'no labels here',
      'Masks work, says "a" study',
      'two\nlines',
    ]);
    expect(notes).toEqual(['1 tweets have no labels']);
  });

  it('leaves bad rows out when told to, and names them', async () => {
    const files = { 'ct_dev.tsv': `${header}\n0\tx\t[1.0, 2.0, 0.0]\n1\ty\tnone\n2\tz\t[0.0, 0.0, 1.0]\n` };
    await expect(importFrom('checkthat4a', { files })).rejects.toThrow('must be 0 or 1');
    const { threads, skipped } = await importFrom('checkthat4a', { files, skipInvalid: true });
    expect(threads.map(({ id }) => id)).toEqual(['dev-2']);
    expect(skipped).toEqual([
      expect.stringContaining(': must be 0 or 1; found '),
      expect.stringContaining(': must be a list such as [0.0, 0.0, 1.0]; found '),
    ]);
  });
});
