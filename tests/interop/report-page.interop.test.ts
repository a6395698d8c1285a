import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { tinySelector } from '../experiments/selector/tiny-selector.ts';
import { launchedChromium } from './browser.ts';

/*
 * Report pages in Debian's Chromium (`apt-get install chromium`), opened from disk: clicks, keys, filters, light and dark, a
 * phone's width, print, and an audit of accessibility by axe-core.
 */

const hostile = `</script><script>document.title = 'taken'</script><img src=x onerror="document.title='taken'">`;

let cwd: string;
let browser: Browser;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-interop-'));
  const threads = synthesizeThreads(tiny.data.synthetic).map((thread) => ({
    ...thread,
    posts: thread.posts.map((post, index) => (index === 1 ? { ...post, text: `${post.text} ${hostile}` } : post)),
  }));
  writeFileSync(join(cwd, 'threads.jsonl'), threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  writeExperiment(join(cwd, 'tiny.yaml'), {
    seeds: [1, 2],
    data: { threads: 'threads.jsonl' },
    variants: { imitation: {}, exact: { agent: { ...tiny.agent, algorithm: 'exact-policy-gradient' } } },
  });
  writeFileSync(join(cwd, 'selector.yaml'), JSON.stringify({ ...tinySelector, name: 'choose' }));
  // Tickets, whose users know no paper: a settled agent, and one that alerts.
  const tickets = synthesizeThreads({ threads: 200, seed: 2 }).map(({ rumor, ...thread }) => {
    return { ...thread, rumor: null, veracity: null, labels: { outcome: rumor ? 'escalated' : 'resolved' } };
  });
  writeFileSync(join(cwd, 'tickets.jsonl'), tickets.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const settled = {
    data: { threads: 'tickets.jsonl' },
    task: 'outcome',
    split: { detector: 60, demonstrations: 20, environment: 20, development: 40, test: 60 },
    agent: { ...tiny.agent, algorithm: 'settled', behaviorCloning: { epochs: 20 }, task: { delayCost: 0.05 } },
    state: { posts: 'none', observesDetector: true },
    evaluation: { resamples: 50 },
  };
  writeExperiment(join(cwd, 'tickets.yaml'), { name: 'tickets', seeds: [1, 2], ...settled });
  writeExperiment(join(cwd, 'alerts.yaml'), { name: 'alerts', ...settled, alerts: ['escalated'] });
  await succeed('train', 'tickets.yaml');
  await succeed('train', 'alerts.yaml');
  await succeed('train', 'tiny.yaml');
  await succeed('train', 'selector.yaml');
  await succeed('compare', 'runs/tiny/imitation', 'runs/tiny/exact', '--html');
  browser = await launchedChromium();
});
afterAll(async () => {
  await browser?.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function succeed(...words: string[]): Promise<void> {
  const { code, errors } = await earshot(words, { cwd, page: true });
  expect(code, errors).toBe(0);
}

/** A page opened from disk. Whatever it asks of a network, or complains of, fails the test. */
async function opened(
  path: string,
  { colorScheme = 'light', width = 1280 }: { colorScheme?: 'light' | 'dark'; width?: number } = {},
): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('file:')) complaints.push(`asks for ${request.url()}`);
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  await page.goto(pathToFileURL(join(cwd, path)).href);
  return { page, complaints };
}

/** What axe-core finds that is serious or worse, as `rule: place`. */
async function problems(page: Page): Promise<string[]> {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // The page's own policy lets scripts run that stand in it; this one is put there.
  await page.evaluate(source);
  const { violations } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    );
}

/** Searches for a thread, among those whose ids begin alike. */
async function openThread(page: Page, id: string): Promise<void> {
  await page.getByRole('searchbox', { name: 'Search' }).fill(id);
  for (const button of await page.locator('.list button').all()) {
    await button.click();
    if ((await page.locator('.detail h3').textContent()) === `Thread ${id}`) return;
  }
  throw new Error(`the page does not list ${id}`);
}

const pages = ['runs/tiny/report.html', 'runs/choose/report.html', 'comparison.html'] as const;

describe.each(pages)('%s', (path) => {
  it.each(['light', 'dark'] as const)('has no serious problem of accessibility, %s', async (colorScheme) => {
    const { page, complaints } = await opened(path, { colorScheme });
    for (const summary of await page.locator('details:not([open]) > summary').all())
      if (await summary.isVisible()) await summary.click();
    expect(await problems(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('fits the width of a phone', async () => {
    const { page } = await opened(path, { width: 375 });
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(375);
    expect(await problems(page)).toEqual([]);
    await page.close();
  });
});

const ofTickets = ['runs/tickets/report.html', 'runs/alerts/report.html'] as const;

describe.each(ofTickets)('a page about tickets, %s', (path) => {
  it('has the words of its users, and none of what was not trained', async () => {
    const { page, complaints } = await opened(path);
    // How stops are sampled in imitation is told there alone.
    const text = await page.evaluate<string>(
      "(() => { for (const own of document.querySelectorAll('#sampled, script, style')) own.remove(); return document.body.textContent; })()",
    );
    for (const word of ['first post', 'score', 'threshold']) expect(text).toContain(word);
    expect(text).not.toMatch(/claim|π|expert|imitat|discriminator|cloning|lose\b/i);
    expect(text).not.toMatch(/\b(CE|EAE|ME|ER)\b|Demonstrations/);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('draws the threshold of the policy, and prints it', async () => {
    const { page } = await opened(path);
    const row = await page.evaluate<{
      thresholds: number[];
      stopProbability: number[][];
      stops: number[];
      predicted: number[];
    }>(
      "JSON.parse(document.getElementById('page-data').textContent).inspector.views[0].rows.find(({ stopProbability: [own] }) => own.length > 4)",
    );
    const id = await page.evaluate<string>(
      "(() => { const { inspector } = JSON.parse(document.getElementById('page-data').textContent); return inspector.threads[inspector.views[0].rows.find(({ stopProbability: [own] }) => own.length > 4).thread].id; })()",
    );
    await openThread(page, id);
    const [threshold] = row.thresholds;
    expect(threshold).not.toBe(0.5);
    const text = threshold.toFixed(3);
    expect(await page.locator('.detail .quiet').nth(1).textContent()).toContain(`its threshold ${text}`);
    expect(await page.locator('#conclusion').textContent()).toContain(text);
    const drawn = await page.locator('.thread-chart path.threshold').getAttribute('d');
    const alerts = await page.evaluate<number[] | null>(
      "JSON.parse(document.getElementById('page-data').textContent).inspector.alerts",
    );
    const counting = row.predicted.map((label) => alerts === null || alerts.includes(label));
    const heights = [...(drawn ?? '').matchAll(/M[\d.]+,([\d.]+)H/g)].map(([, y]) => Number(y));
    // A stretch for each run of posts at which it may stop.
    expect(heights).toHaveLength(counting.filter((may, post) => may && !counting[post - 1]).length);
    const dots = await page
      .locator('.thread-chart .probability circle')
      .evaluateAll((circles) => circles.map((circle) => Number(circle.getAttribute('cy'))));
    const [scores] = row.stopProbability;
    for (const [post, cy] of dots.entries())
      for (const line of heights) expect([post, cy < line]).toEqual([post, scores[post] > threshold]);
    const first = scores.findIndex((score, post) => counting[post] && score > threshold);
    expect(row.stops[0]).toBe(first < 0 ? scores.length - 1 : first);
    await page.close();
  });

  it.each([1440, 1024, 390] as const)('is laid out well at %d pixels, light and dark', async (width) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await opened(path, { colorScheme, width });
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(width);
      const faults = await page.evaluate<string[]>(`(() => {
        const box = (mark) => mark.getBoundingClientRect();
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        const within = (x, y, a) => x > a.left && x < a.right && y > a.top && y < a.bottom;
        const faults = [];
        // Columns that are cut off, where there is room for a desk.
        if (${width} >= 1024)
          for (const table of document.querySelectorAll('.scroll'))
            if (table.scrollWidth > table.clientWidth + 1) faults.push('cut off: ' + table.ariaLabel);
        // Names of the front that cover points.
        for (const chart of ['front', 'front-queries']) {
          const points = [...document.querySelectorAll('#chart-' + chart + ' .mark-symbol path')].filter((own) => own.querySelector('title')).map(box);
          const label = [...document.querySelectorAll('#chart-' + chart + ' .mark-text text')].find((text) => text.getAttribute('font-weight') === 'bold');
          if (label === undefined) faults.push('no name in ' + chart);
          else if (points.some((point) => within((point.left + point.right) / 2, (point.top + point.bottom) / 2, box(label)))) faults.push('covered point in ' + chart);
        }
        return faults;
      })()`);
      expect(faults).toEqual([]);
      expect(await problems(page)).toEqual([]);
      await page.close();
    }
  });
});

describe('the inspector', () => {
  it('searches, filters and sorts, and shows the thread that is chosen', async () => {
    const { page, complaints } = await opened(pages[0]);
    const rows = page.locator('.list button');
    expect(await rows.count()).toBe(16);
    expect(await page.locator('.controls output').textContent()).toBe('16 threads');

    await page.getByLabel('Show').selectOption('mistakes of the agent');
    const wrong = await rows.count();
    expect(await page.locator('.list button.right').count()).toBe(0);
    await page.getByLabel('Show').selectOption('right predictions');
    expect(await rows.count()).toBe(16 - wrong);
    await page.getByLabel('Show').selectOption('all threads');

    await page.getByLabel('Sort').selectOption('longest first');
    const lengths = (await page.locator('.list .quiet').allTextContents()).map((text) =>
      Number(/of (\d+)$/.exec(text)?.[1]),
    );
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));

    await rows.nth(3).click();
    expect(await rows.nth(3).getAttribute('aria-current')).toBe('true');
    expect(await page.locator('.posts > li').count()).toBe(lengths[3]);
    const name = (await page.locator('.detail h3').textContent())?.replace('Thread ', '') ?? '';
    await page.getByRole('searchbox', { name: 'Search' }).fill(name);
    expect(await page.locator('.detail h3').textContent()).toBe(`Thread ${name}`);
    await page.getByRole('searchbox', { name: 'Search' }).fill('no such word');
    expect(await page.locator('.controls output').textContent()).toBe('0 threads');
    expect(await page.locator('.detail').textContent()).toBe('No thread is like that.');
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('shows the seed that is chosen: its stop probabilities, decisions and mistakes, of the same thread', async () => {
    const { page, complaints } = await opened(pages[0]);
    const seen = async () => ({
      title: await page.locator('.detail h3').textContent(),
      line: await page.locator('.detail svg path').evaluateAll((paths) => paths.map((path) => path.getAttribute('d'))),
      stops: await page.locator('.list .quiet').allTextContents(),
    });
    const shared = await page.evaluate<string>(`(() => {
      const { inspector } = JSON.parse(document.getElementById('page-data').textContent);
      const [one, two] = inspector.views.map(({ rows }) => rows.map(({ thread }) => thread));
      return inspector.threads[one.find((thread) => two.includes(thread))].id;
    })()`);
    await openThread(page, shared);
    await page.getByRole('searchbox', { name: 'Search' }).fill('');
    const first = await seen();
    const seed = page.getByRole('combobox', { name: 'Seed' });
    expect(await seed.locator('option').allTextContents()).toEqual(['1', '2']);
    await seed.selectOption('2');
    expect(await page.locator('.detail .quiet').first().textContent()).toContain('seed 2');
    const second = await seen();
    expect(second.stops).not.toEqual(first.stops);
    expect(second.line).not.toEqual(first.line);
    // Each seed tests threads of its own; the one that was open stays open where the other has it.
    expect(second.title).toBe(first.title);

    await page.getByLabel('Show').selectOption('mistakes of the agent');
    const wrong = await page.locator('.list button').count();
    expect(await page.locator('.list button.right').count()).toBe(0);
    await seed.selectOption('1');
    await seed.selectOption('2');
    expect(await page.locator('.list button').count()).toBe(wrong);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('follows the agent that is chosen', async () => {
    const { page, complaints } = await opened(pages[0]);
    const agent = page.getByRole('combobox', { name: 'Agent' });
    const names = await agent.locator('option').allTextContents();
    expect(names.toSorted()).toEqual(['exact', 'imitation']);
    for (const name of names) {
      await agent.selectOption(name);
      await page.getByRole('combobox', { name: 'Show' }).selectOption('mistakes of the agent');
      expect(await page.locator('.list button.right').count()).toBe(0);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('is worked by keys alone', async () => {
    const { page } = await opened(pages[0]);
    const current = () =>
      page.evaluate<number>(
        "[...document.querySelectorAll('.list button')].findIndex((button) => button.ariaCurrent === 'true')",
      );
    await page.locator('.list button').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await current()).toBe(2);
    await page.keyboard.press('ArrowUp');
    expect(await current()).toBe(1);
    await page.keyboard.press('End');
    expect(await current()).toBe(15);
    await page.keyboard.press('Home');
    expect(await current()).toBe(0);
    await page.close();
  });

  it('shows hostile texts as text', async () => {
    const { page } = await opened(pages[0]);
    expect(await page.title()).toBe('tiny');
    expect(await page.locator('.posts .text').nth(1).textContent()).toContain(hostile);
    expect(await page.locator('img').count()).toBe(0);
    await page.close();
  });
});

describe('charts and tables', () => {
  it('tell a point under the pointer', async () => {
    const { page } = await opened(pages[0]);
    const titles = await page.locator('#chart-front .mark-symbol title').allTextContents();
    expect(titles.find((title) => title.startsWith('imitation'))).toMatch(
      /^imitation\nmacro-F1 0\.\d{3} \[.*\n\d+% of the posts read/,
    );
    await page.close();
  });

  it('are sorted by a click on a heading, and say so', async () => {
    const { page } = await opened(pages[0]);
    const table = page.locator('#systems table').first();
    await table.getByRole('button', { name: 'earliness' }).click();
    expect(await table.locator('th[aria-sort]').getAttribute('aria-sort')).toBe('descending');
    const column = async () =>
      (await table.locator('tbody tr td:nth-of-type(2)').allTextContents()).map(Number.parseFloat);
    expect(await column()).toEqual((await column()).toSorted((a, b) => b - a));
    await table.getByRole('button', { name: 'earliness' }).click();
    expect(await column()).toEqual((await column()).toSorted((a, b) => a - b));
    await page.close();
  });

  it('are dark on dark', async () => {
    const { page } = await opened(pages[0], { colorScheme: 'dark' });
    const colours = await page.evaluate(
      "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('#chart-front svg > rect')).fill]",
    );
    expect(colours).toEqual(['rgb(23, 24, 27)', 'rgb(23, 24, 27)']);
    await page.emulateMedia({ media: 'print' });
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
    expect(await page.locator('.controls').first().isVisible()).toBe(false);
    await page.close();
  });
});

describe('the items of a selector', () => {
  it('are searched, filtered and sorted', async () => {
    const { page } = await opened(pages[1]);
    const shown = page.locator('.posts > li');
    expect(await shown.count()).toBeGreaterThan(0);
    await page.getByRole('combobox', { name: 'Show' }).selectOption('discarded');
    expect(await page.locator('.posts > li.retained').count()).toBe(0);
    await page.getByRole('combobox', { name: 'Show' }).selectOption('all');
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('claims');
    await page.getByRole('combobox', { name: 'Sort' }).selectOption('least likely first');
    const texts = await page.locator('.posts .meta').allTextContents();
    const probabilities = texts.map((text) => Number(/π\(retain\) ([\d.]+)/.exec(text)?.[1]));
    expect(probabilities).toEqual(probabilities.toSorted((a, b) => a - b));
    await page.close();
  });
});
