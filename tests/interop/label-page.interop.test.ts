import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLabelFile } from '../../experiments/labelling/label-file.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import type { Thread } from '../../src/data/thread.ts';
import { until } from '../experiments/cli/command-line.ts';
import { launchedChromium } from './browser.ts';

/*
 * The page of `earshot label` in Debian's Chromium, by keyboard alone: 5,000 threads, texts that attack, run from right to left or are
 * long, a kill, and two annotators at once.
 */

const hostile = `</p><script>document.title = 'taken'</script><img src=x onerror="document.title='taken'">`;
const hard = [hostile, 'قال الشهود إن الجسر ما زال قائما', 'x'.repeat(10_000), `${'long words '.repeat(900)}`];

let cwd: string;
let browser: Browser;
const outcomeOf = new Map<string, string>();
const children: ChildProcess[] = [];
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-interop-'));
  const threads = synthesizeThreads({ threads: 5000, seed: 2 }).map((thread, index): Thread => {
    outcomeOf.set(thread.id, thread.rumor === true ? 'escalated' : 'resolved');
    const posts = thread.posts.map((post, place) =>
      place === thread.posts.length - 1 ? { ...post, text: `${post.text} ${hard[index % hard.length]}` } : post,
    );
    return { ...thread, rumor: null, veracity: null, posts };
  });
  writeFileSync(join(cwd, 'threads.jsonl'), threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  browser = await launchedChromium();
});
afterAll(async () => {
  await browser?.close();
  for (const child of children) child.kill('SIGKILL');
  rmSync(cwd, { recursive: true, force: true });
});

/** Starts the command, and says where its page is. */
async function started(annotator: string, ...words: string[]): Promise<{ child: ChildProcess; address: string }> {
  const program = join(import.meta.dirname, '../../experiments/cli/earshot.mjs');
  const all = ['label', 'threads.jsonl', '--label', 'outcome', '--annotator', annotator, ...words];
  const child = spawn(process.execPath, [program, ...all], { cwd });
  children.push(child);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  await until(() => /label at \S+ /.test(said));
  return { child, address: /label at (\S+) /.exec(said)?.[1] ?? '' };
}

async function opened(address: string, { width = 1280 } = {}): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 844 } });
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith('data:')) complaints.push(request.url());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(address);
  return { page, complaints };
}

const inSight = async (page: Page) =>
  decodeURIComponent((await page.locator('input[name=thread]').getAttribute('value')) ?? '');

async function press(page: Page, key: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.keyboard.press(key)]);
}

/** Labels so many threads, and returns their ids. */
async function label(page: Page, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let done = 0; done < count; done++) {
    const id = await inSight(page);
    ids.push(id);
    await press(page, outcomeOf.get(id) === 'resolved' ? '1' : '2');
  }
  return ids;
}

const answers = () => openLabelFile(join(cwd, 'threads.outcome.labels.jsonl'), { label: 'outcome', seed: 1 }).answers();

async function problems(page: Page): Promise<string[]> {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(source);
  const { violations } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    );
}

describe('the page of labels', () => {
  it('labels 40 threads by keyboard, takes one back, and goes on after a kill', async () => {
    const { child, address } = await started('anna', '--classes', 'resolved,escalated');
    const { page, complaints } = await opened(address);
    const first = await label(page, 25);
    await press(page, 'u');
    expect(await inSight(page)).toBe(first[24]);
    expect(answers().classOf.has(first[24])).toBe(false);
    child.kill('SIGKILL');
    const inFile = answers();
    // One of 25 was asked again, and one was taken back.
    expect([...inFile.classOf].every(([id, own]) => own === outcomeOf.get(id))).toBe(true);
    const again = await started('anna');
    await page.goto(again.address);
    expect(await inSight(page)).toBe(first[24]);
    await label(page, 16);
    const { all: given, classOf } = answers();
    expect(given).toHaveLength(40);
    expect([...classOf].every(([id, own]) => own === outcomeOf.get(id))).toBe(true);
    // The detector learns meanwhile, and shows what it has learnt.
    await expect
      .poll(
        async () => {
          await page.reload();
          return page.locator('aside').textContent();
        },
        { timeout: 100_000, interval: 2000 },
      )
      .toContain('were drawn at random');
    expect(await page.title()).not.toBe('taken');
    expect(complaints.filter((line) => !line.startsWith(again.address))).toEqual([]);
    expect(await problems(page)).toEqual([]);
    await page.close();
  });

  it('shows two annotators different threads of one file', async () => {
    const [anna, bob] = [await started('anna'), await started('bob')];
    const before = answers().all.length;
    const [first, second] = [await opened(anna.address), await opened(bob.address)];
    const [ofAnna, ofBob] = await Promise.all([label(first.page, 12), label(second.page, 12)]);
    expect(ofAnna.filter((id) => ofBob.includes(id))).toEqual([]);
    expect(answers().all).toHaveLength(before + 24);
    expect([...first.complaints, ...second.complaints]).toEqual([]);
    await Promise.all([first.page.close(), second.page.close()]);
  });

  it('fits the width of a phone, and keeps its keys in sight below long texts', async () => {
    const { address } = await started('carl', '--strategy', 'random');
    const { page } = await opened(address, { width: 390 });
    for (let seen = 0; seen < 8; seen++) {
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      const bar = await page.locator('.answers').boundingBox();
      expect((bar?.y ?? 844) + (bar?.height ?? 0)).toBeLessThanOrEqual(845);
      expect(await page.title()).not.toBe('taken');
      await press(page, 's');
    }
    expect(await problems(page)).toEqual([]);
    await page.close();
  });
});
