import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readStops } from '../../../experiments/stop-agent/decided-files.ts';
import { rumorTask } from '../../../src/data/task.ts';
import { earshot, threadLines, writeExperiment } from './command-line.ts';

const hostile = `</script><script>document.title = 'taken'</script><img src=x onerror="document.title='taken'"> it's & "quoted" <!--`;

let cwd: string;
let first: Awaited<ReturnType<typeof earshot>>;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-page-'));
  const lines = threadLines(60).trimEnd().split('\n');
  const threads = lines.map((line) => JSON.parse(line));
  for (const { posts } of threads) posts[1].text = `${posts[1].text} ${hostile}`;
  writeFileSync(join(cwd, 'threads.jsonl'), threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  writeExperiment(join(cwd, 'tiny.yaml'), { data: { threads: 'threads.jsonl' }, description: 'What <b>is</b> asked.' });
  first = await earshot(['train', 'tiny.yaml'], { cwd, page: true });
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const read = (path: string) => readFileSync(join(cwd, path), 'utf8');
const dataOf = (page: string) =>
  JSON.parse(/<script type="application\/json" id="page-data">(.*?)<\/script>/s.exec(page)?.[1] ?? 'null');

describe('the page of an experiment', () => {
  it('is written at the end of a training, with its charts as SVG beside it', () => {
    expect(first.code, first.errors).toBe(0);
    expect(first.errors).toContain('Page: runs/tiny/report.html');
    const pictures = readdirSync(join(cwd, 'runs/tiny/report-pictures'));
    expect(pictures).toEqual(expect.arrayContaining(['front.svg', 'front-queries.svg', 'curve-ppo-entropy.svg']));
    for (const name of pictures) expect(read(`runs/tiny/report-pictures/${name}`)).toMatch(/^<svg xmlns=/);
  });

  it.skipIf(process.platform !== 'linux')(
    'is opened with the program of the system, or its path is printed',
    async () => {
      const bin = join(cwd, 'bin');
      mkdirSync(bin);
      onTestFinished(() => void vi.unstubAllEnvs());
      vi.stubEnv('PATH', bin);
      const words = ['report', 'runs/tiny', '--out', 'open.html', '--open'];
      const without = await earshot(words, { cwd, page: true });
      expect(without.code).toBe(1);
      expect(without.errors).toContain('xdg-open, which opens files here, cannot be run; open open.html yourself');
      writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" > '${join(cwd, 'opened')}'\n`);
      chmodSync(join(bin, 'xdg-open'), 0o755);
      expect(await earshot(words, { cwd, page: true })).toMatchObject({ code: 0 });
      await vi.waitFor(() => expect(read('opened').trim()).toBe(join(cwd, 'open.html')), { timeout: 20_000 });
    },
  );

  it('is one file that holds no address and lets the browser load nothing', () => {
    const page = read('runs/tiny/report.html');
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"`);
    expect(page).not.toMatch(/https?:|\/\/[a-z0-9-]+\.[a-z]/i);
    expect(page).not.toMatch(/<(link|iframe|object|embed|base)\b/);
    expect(Buffer.byteLength(page)).toBeLessThan(1e6);
  });

  it('escapes what threads and experiments say', () => {
    const page = read('runs/tiny/report.html');
    expect(page).toContain('What &lt;b&gt;is&lt;/b&gt; asked.');
    // Its own two scripts, and no image.
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page.match(/<\/script/g)).toHaveLength(2);
    expect(page).not.toContain('<img');
    const { threads } = dataOf(page).inspector;
    expect(threads).toHaveLength(16);
    for (const { texts } of threads) expect(texts[1]).toContain(hostile);
  });

  it('opens with the conclusion that the terminal and the other reports give, and holds what `--json` prints', async () => {
    const page = read('runs/tiny/report.html');
    const { conclusion, recommended, results } = JSON.parse(read('runs/tiny/report.json'));
    const printed = first.out.replaceAll(/\s+/g, ' ');
    expect(printed).toContain(`tiny: ${conclusion}`);
    expect(read('runs/tiny/report.md')).toContain(`**${conclusion}**`);
    expect(page).toContain(`<p class="conclusion">${conclusion.replaceAll('’', '’')}</p>`);
    expect(page).toMatch(
      /<p class="quiet">\d{4}-\d\d-\d\d · Earshot \d.* · data: threads\.jsonl · .*earshot train tiny\.yaml/,
    );
    expect(first.errors).toContain('npx earshot decide threads.jsonl --policy runs/tiny/policy ');
    expect(JSON.parse(read('runs/tiny/policy/manifest.json')).system).toBe(recommended.system);
    expect(dataOf(page).results).toEqual(results);
    const json = await earshot(['report', 'tiny.yaml', '--json'], { cwd });
    expect(JSON.parse(json.out)).toEqual(results);
  });

  it('shows what the run decided', () => {
    const { inspector } = dataOf(read('runs/tiny/report.html'));
    const { labels } = rumorTask;
    const decisions = readStops(join(cwd, 'runs/tiny/agent/seed-1'), { labels, part: 'test' }).filter(
      ({ system }) => system === 'stop agent',
    );
    const [view] = inspector.views;
    const shown = view.rows.map((row: { thread: number; stops: number[]; answers: number[] }) => ({
      threadId: inspector.threads[row.thread].id,
      postsUsed: row.stops[0] + 1,
      predicted: row.answers[0],
    }));
    expect(shown).toEqual(decisions.map(({ threadId, postsUsed, predicted }) => ({ threadId, postsUsed, predicted })));
  });

  it('is written for a run by `report`, where it is told to, and left out on demand', async () => {
    const run = 'runs/tiny/agent/seed-1';
    mkdirSync(join(cwd, 'run-pictures'));
    for (const name of ['earlier.svg', 'notes.txt']) writeFileSync(join(cwd, 'run-pictures', name), '');
    const { code, errors, out } = await earshot(['report', run, '--html', '--out', 'run.html'], { cwd });
    expect(code, errors).toBe(0);
    expect([out, errors]).toEqual(['', 'Page: run.html\n']);
    expect(read('run.html')).toContain('<h1>tiny: agent</h1>');
    const pictures = readdirSync(join(cwd, 'run-pictures'));
    expect(pictures).toEqual(expect.arrayContaining(['front.svg', 'notes.txt']));
    expect(pictures).not.toContain('earlier.svg');
    expect((await earshot(['report', run], { cwd })).out).toMatch(
      /^tiny: agent: .*\n(.*\n)+\n── Every system ──\n\nsystem +macro-F1/,
    );
    const without = await earshot(['train', 'tiny.yaml', '--runs', 'other', '--no-html'], { cwd });
    expect(without.errors).not.toContain('Page:');
    expect(existsSync(join(cwd, 'other/tiny/report.html'))).toBe(false);
  });

  it('says which texts are missing, and shows the rest', async () => {
    const before = read('threads.jsonl');
    onTestFinished(() => writeFileSync(join(cwd, 'threads.jsonl'), before));
    writeFileSync(join(cwd, 'threads.jsonl'), before.replaceAll('confirmed official', 'changed since'));
    expect((await earshot(['report', 'runs/tiny', '--html', '--out', 'changed.html'], { cwd })).code).toBe(0);
    const changed = read('changed.html');
    expect(changed).toMatch(/Texts are missing: \d+ of 16 threads of threads\.jsonl are missing or were changed/);
    const { threads, views } = dataOf(changed).inspector;
    expect(threads.some(({ texts }: { texts: unknown }) => texts === null)).toBe(true);
    expect(threads.some(({ texts }: { texts: unknown }) => texts !== null)).toBe(true);
    expect(views[0].rows).toHaveLength(16);
    rmSync(join(cwd, 'threads.jsonl'));
    expect((await earshot(['report', 'tiny.yaml', '--html', '--out', 'gone.html'], { cwd })).code).toBe(0);
    expect(read('gone.html')).toContain('Texts are missing: threads.jsonl cannot be read: ');
  });

  it('refuses a run and its copy, which would count as two seeds', async () => {
    cpSync(join(cwd, 'runs/tiny/agent'), join(cwd, 'copied/agent'), { recursive: true });
    expect((await earshot(['report', 'copied'], { cwd })).code).toBe(0);
    cpSync(join(cwd, 'copied/agent/seed-1'), join(cwd, 'copied/agent/before'), { recursive: true });
    const { code, errors } = await earshot(['report', 'copied'], { cwd });
    expect(code).toBe(1);
    expect(errors).toBe(
      'earshot: copied/agent/seed-1 is a copy of copied/agent/before, and would count as a further seed; move one of them elsewhere\n',
    );
  });

  it('refuses folders without runs', async () => {
    mkdirSync(join(cwd, 'empty'), { recursive: true });
    const { code, errors } = await earshot(['report', 'empty', '--html'], { cwd });
    expect(code).toBe(1);
    expect(errors).toMatch(/^earshot: empty holds no finished run; give a run such as/);
  });
});

describe('the page of a comparison', () => {
  it('has the differences, and the threads on which two systems differ', async () => {
    const run = 'runs/tiny/agent/seed-1';
    const words = ['compare', run, run, '--second-system', 'all posts', '--seed', '7', '--out', 'comparison.html'];
    const { code, errors } = await earshot(words, { cwd });
    expect(code, errors).toBe(0);
    const page = read('comparison.html');
    expect(page).toContain('<h1>stop agent against all posts</h1>');
    // Another seed has other intervals.
    expect(page).toMatch(/<code>earshot compare [^<]* --seed 7<\/code>/);
    expect(page).toMatch(/<th scope="row">macro-F1<\/th>/);
    expect(page).toContain('<p>16 decisions paired; ');
    expect(page).toMatch(/<p>\d+ items? on which they differ\.<\/p>/);
    expect(page).toMatch(/<p class="conclusion">They (do not measurably )?differ in macro-F1: /);
  });
});
