import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveLabels } from '../../../experiments/labelling/label-server.ts';
import type { Learnt } from '../../../experiments/labelling/labelling.ts';
import { openLabelling } from '../../../experiments/labelling/labelling.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';

const hostile = `</p><script>document.title = 'taken'</script><img src=x onerror="document.title='taken'">`;

function threads(count: number, change: (thread: Thread) => Thread = (thread) => thread): Thread[] {
  return Array.from({ length: count }, (_, index) => change(makeThread(`t ${index}+%`, { rumor: null })));
}

async function served(
  own: readonly Thread[],
  options: { learn?: () => Promise<Learnt | null>; classes?: readonly string[]; onNote?: (line: string) => void } = {},
) {
  const { learn = async () => null, classes = ['resolved', 'escalated'], onNote = () => {} } = options;
  const labels = join(temporaryFolder(), 'labels.jsonl');
  const labelling = openLabelling(own, { label: 'outcome', classes, labels, seed: 1 });
  const server = await serveLabels(labelling, {
    ...{ annotator: 'anna', port: 0, isRandom: false, learn, onNote },
    now: () => new Date(0),
  });
  onTestFinished(() => server.stop());
  const page = async () => (await fetch(server.address)).text();
  const inSight = async () => /name="thread" value="([^"]*)"/.exec(await page())?.[1] ?? '';
  const send = async (answer: string, thread?: string) => {
    const body = new URLSearchParams({ answer, thread: thread ?? (await inSight()) });
    return fetch(server.address, { method: 'POST', body, redirect: 'manual' });
  };
  return { ...server, labelling, page, inSight, send, answers: () => labelling.file.answers() };
}

/** The status of a request whose headers a browser would set. */
function statusOf(address: string, options: { method?: string; headers?: Record<string, string>; path?: string }) {
  return new Promise<number | undefined>((resolve, reject) => {
    const { pathname, port } = new URL(address);
    const to = { host: '127.0.0.1', port, path: pathname, ...options };
    request(to, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('the page', () => {
  it('shows posts with author and time, and escapes them', async () => {
    const { page, labelling } = await served(
      threads(1, (thread) => ({
        ...thread,
        posts: thread.posts.map((post) => ({ ...post, author: '<b>u1</b>', text: `${post.text} ${hostile}` })),
      })),
    );
    const text = await page();
    expect(text).not.toContain('<script>document');
    expect(text).not.toContain('<img');
    expect(text).not.toContain('<b>u1');
    expect(text).toContain('&lt;img src=x');
    for (const { time } of labelling.threads.get('t 0+%')?.posts ?? []) expect(text).toContain(`datetime="${time}">`);
    expect(text).toContain('2020-01-01 01:00 UTC');
  });

  it('takes classes, skips and what nobody can tell, and takes answers back', async () => {
    const { send, answers, inSight, page } = await served(threads(5));
    const first = await inSight();
    const { status, headers } = await send('class-2');
    expect([status, new URL(headers.get('location') ?? '', 'http://x').pathname]).toEqual([
      303,
      expect.stringMatching(/^\/\w{32}\/$/),
    ]);
    expect([...answers().classOf]).toEqual([[decodeURIComponent(first), 'escalated']]);
    expect(await page()).toContain('· escalated');
    await send('cannot-tell');
    await send('skip');
    expect([...answers().classOf.values()]).toEqual(['escalated', null]);
    await send('undo');
    await send('undo');
    await send('undo');
    expect(answers().classOf.size).toBe(0);
    expect(await inSight()).toBe(first);
    await send('class-3');
    await send('class-2', 't%209');
    expect(answers().classOf.size).toBe(0);
  });

  it('says so when no thread is left', async () => {
    const { send, page } = await served(threads(1));
    await send('class-1');
    expect(await page()).toContain('No thread is left for you');
  });

  it('gives no key to a tenth class', async () => {
    const classes = Array.from({ length: 11 }, (_, index) => `c${index}`);
    const { send, answers, page } = await served(threads(1), { classes });
    expect((await page()).match(/data-key="\d+"/g)).toHaveLength(9);
    await send('class-11');
    expect([...answers().classOf.values()]).toEqual(['c10']);
  });
});

describe('who may ask', () => {
  it('is whoever knows the token, on this machine, from the page itself', async () => {
    const { address } = await served(threads(1));
    const { host, origin, port } = new URL(address);
    expect(host).toMatch(/^127\.0\.0\.1:/);
    expect(await statusOf(address, {})).toBe(200);
    expect(await statusOf(address, { path: '/' })).toBe(404);
    expect(await statusOf(address, { path: `/${'0'.repeat(32)}/` })).toBe(404);
    expect(await statusOf(address, { headers: { host: `evil.example:${port}` } })).toBe(403);
    expect(await statusOf(address, { method: 'POST', headers: { origin: 'http://evil.example' } })).toBe(403);
    expect(await statusOf(address, { method: 'POST', headers: { origin: 'null' } })).toBe(403);
    expect(await statusOf(address, { method: 'POST', headers: { origin } })).toBe(303);
    expect(await statusOf(address, { method: 'PUT' })).toBe(405);
    const { headers } = await fetch(address);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const long = await fetch(address, { method: 'POST', body: new URLSearchParams({ answer: 'x'.repeat(70_000) }) });
    expect(long.status).toBe(413);
  });

  it('is told that the port is taken', async () => {
    const { address, labelling } = await served(threads(1));
    const port = Number(new URL(address).port);
    const learn = async () => null;
    await expect(
      serveLabels(labelling, { annotator: 'a', port, isRandom: true, learn, now: () => new Date(0), onNote: () => {} }),
    ).rejects.toThrow(`something listens at 127.0.0.1:${port} already`);
  });
});

describe('learning', () => {
  const learnt = (labels: number, macroF1: number | null, ranking: readonly string[] = []): Learnt => ({
    ...{ labels, macroF1, ranking, tested: 30 },
    changed: 0.25,
  });

  it('begins after ten labels and then every ten, without the page waiting for it', async () => {
    const waiting: ((own: Learnt | null) => void)[] = [];
    const learn = () => new Promise<Learnt | null>((resolve) => waiting.push(resolve));
    const { send, page } = await served(threads(80), { learn });
    for (let count = 0; count < 9; count++) await send(`class-${(count % 2) + 1}`);
    await page();
    expect(waiting).toHaveLength(0);
    await send('class-1');
    await page();
    expect(waiting).toHaveLength(1);
    expect(await page()).toContain('The detector is learning');
    for (let count = 0; count < 15; count++) await send('class-1');
    expect(waiting).toHaveLength(1);
    waiting[0](learnt(10, 0.5));
    await expect.poll(page, { timeout: 100_000 }).toContain('Macro-F1 after all posts is 0.500 with 10 labels');
    expect(await page()).not.toContain('<svg');
    await page();
    expect(waiting).toHaveLength(2);
    waiting[1](learnt(24, 0.625));
    await expect.poll(page, { timeout: 100_000 }).toContain('macro-F1 by +0.125');
    const text = await page();
    expect(text).toContain('The last 14 labels changed the predictions of 25% of the unlabelled threads');
    expect(text).toContain('<svg');
    expect(text).toContain('aria-label="Cross-validated macro-F1, 0.50 with 10 labels, 0.63 with 24 labels."');
    expect(text).toContain('Of the 24 labels, 30 test: those that were drawn at random');
  });

  it('says that threads are drawn at random while the detector disagrees with people', async () => {
    const said = 'so every thread is drawn at random';
    const histories = [[learnt(40, 0.5)], [learnt(30, 0.5)], [learnt(40, 0.5, ['a'])]];
    const pages = histories.map(async ([first]) => {
      const { send, page } = await served(threads(80), { learn: async () => first });
      for (let count = 0; count < 10; count++) await send('class-1');
      await page();
      await expect.poll(page, { timeout: 100_000 }).toContain(`with ${first.labels} labels`);
      return (await page()).includes(said);
    });
    expect(await Promise.all(pages)).toEqual([true, false, false]);
  });

  it('chooses by its ranking', async () => {
    const ranking: string[] = [];
    const { send, inSight, labelling } = await served(threads(80), { learn: async () => learnt(20, null, ranking) });
    ranking.push(...labelling.order.slice(-20));
    const asked = [];
    for (let count = 0; count < 58; count++) {
      asked.push(decodeURIComponent(await inSight()));
      await send('class-1');
    }
    expect(asked.filter((id) => ranking.includes(id)).length).toBeGreaterThanOrEqual(8);
    expect(asked.slice(0, 40).filter((id) => ranking.includes(id))).toEqual([]);
  });

  it('is not the end of labelling where it fails', async () => {
    const notes: string[] = [];
    const learn = async () => {
      throw new Error('no memory');
    };
    const { send, answers } = await served(threads(40), { learn, onNote: (line) => notes.push(line) });
    for (let count = 0; count < 30; count++) await send('class-1');
    expect(notes[0]).toBe('the detector did not learn: no memory');
    expect(answers().classOf.size).toBeGreaterThan(25);
  });
});
