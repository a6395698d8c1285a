import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { interopPython } from './python.ts';
import { freePort, installed } from './serving.ts';

/*
 * Follows docs/how-to/use-a-policy.md, block by block, in a project that has the package of Earshot installed.
 */

const home = join(import.meta.dirname, '../..');
const page = readFileSync(join(home, 'docs/how-to/use-a-policy.md'), 'utf8');
const blocks = Array.from(page.matchAll(/```(\w+) ?(\S*)\n(.*?)```/gs), ([, language, name, code]) => ({
  language,
  name,
  code,
}));

let project: string;
let port: number;
let server: ReturnType<typeof spawn> | null = null;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'earshot-page-'));
  port = await freePort();
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'reader', type: 'module', private: true }));
  shell('npm pack --ignore-scripts=false --pack-destination "$PROJECT" >&2', home);
  const [archive] = readdirSync(project).filter((name) => name.endsWith('.tgz'));
  shell(`npm install --ignore-scripts --no-audit --no-fund ./${archive}`);
  symlinkSync('node_modules/earshot/experiments', join(project, 'experiments'));
});
afterAll(() => {
  if (server?.pid !== undefined) process.kill(-server.pid, 'SIGKILL');
  rmSync(project, { recursive: true, force: true });
});

function environment() {
  const python = dirname(interopPython(join(import.meta.dirname, 'requirements-serving.txt')));
  return { ...process.env, NODE_OPTIONS: '', PATH: `${python}:${process.env.PATH}`, PROJECT: project };
}

/** What a block prints. */
function shell(code: string, cwd: string = project): string {
  const words = ['-euo', 'pipefail', '-c', code.replaceAll('8600', String(port)).replace('--retry 60', '--retry 600')];
  const { status, stdout, stderr } = spawnSync('bash', words, { cwd, env: environment(), encoding: 'utf8' });
  expect(status, `${code}\n${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/** Writes the block into the file that it names. */
function write(name: string): void {
  const block = blocks.find((each) => each.name === name);
  if (block === undefined) throw new Error(`the page has no block ${name}`);
  mkdirSync(dirname(join(project, name)), { recursive: true });
  writeFileSync(join(project, name), block.code.replaceAll('8600', String(port)));
}

/** The text that a page shows in a browser without a window. */
async function shownBy(path: string): Promise<string> {
  installed('chromium', 'chromium');
  const types: Record<string, string> = { html: 'text/html', js: 'text/javascript', json: 'application/json' };
  const site = createServer((request, response) => {
    const name = new URL(request.url ?? '', 'http://here').pathname;
    response.setHeader('content-type', types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream');
    const path = join(project, 'site', name);
    if (existsSync(path)) response.end(readFileSync(path));
    // Browsers ask for an icon of their own accord.
    else response.writeHead(404).end();
  });
  const sitePort = await freePort();
  await new Promise<void>((resolve) => site.listen(sitePort, '127.0.0.1', resolve));
  const words = ['--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=60000', '--dump-dom'];
  const browser = spawn('chromium', [...words, `http://localhost:${sitePort}/${path}`]);
  let dom = '';
  browser.stdout.setEncoding('utf8').on('data', (text: string) => {
    dom += text;
  });
  await new Promise((resolve) => browser.on('close', resolve));
  site.closeAllConnections();
  site.close();
  return /<p id="decision">(.*?)<\/p>/.exec(dom)?.[1] ?? dom;
}

it('leads from a trained run to the same decision everywhere', async () => {
  const shells = blocks.filter(({ language, name }) => language === 'sh' && name === '').map(({ code }) => code);
  const [exporting, deciding, python, browser, postByPost, whole, repository, ...others] = shells;
  expect(others).toEqual([]);

  shell(exporting);
  const decided = JSON.parse(shell(deciding));
  expect(decided).toMatchObject({ threadId: 't1', posts: 3 });
  const { postsUsed, stopped, why, prediction, scores } = decided;
  const said = `${postsUsed} ${why} ${prediction.label}`;

  const byPython = JSON.parse(shell(python).trim().split('\n').at(-1) ?? '');
  expect(byPython).toMatchObject({ postsUsed, why, prediction: { label: prediction.label } });
  write('decide.py');
  expect(shell('python decide.py').trim()).toBe(said);

  write('decide.js');
  expect(shell('node decide.js').split('\n')[0]).toBe(said);

  shell(browser);
  expect(statSync(join(project, 'site/earshot-policy.js')).size).toBeLessThan(60_000);
  write('site/index.html');
  expect(await shownBy('index.html')).toBe(said);

  const serve = blocks.find(({ name }) => name === 'server')?.code.replaceAll('8600', String(port)) ?? '';
  server = spawn('bash', ['-c', serve], { cwd: project, env: environment(), detached: true, stdio: 'ignore' });
  const answers = shell(postByPost).trim().replaceAll('}{', '}\n{').split('\n');
  expect(JSON.parse(answers.at(-1) ?? '')).toMatchObject({ decision: 'stop', postsUsed, stopped, prediction });
  expect(JSON.parse(shell(whole)).decisions).toHaveLength(1);

  shell(repository);
  expect(readFileSync(join(project, 'models/policy/1/model.onnx'))).toEqual(
    readFileSync(join(project, 'policy/policy.onnx')),
  );
  write('score.py');
  const [, numbers, threshold] = /^\[(.*)\] (\S+)$/.exec(shell('python score.py').trim()) ?? [];
  const asked = numbers.trim().split(/\s+/).map(Number);
  expect(asked).toHaveLength(3);
  for (const [index, score] of scores.entries()) expect(asked[index]).toBeCloseTo(score, 4);
  expect(asked.findIndex((score) => score > Number(threshold)) + 1).toBe(why === 'threshold' ? postsUsed : 0);

  // Every block was run.
  expect(blocks.map(({ language, name }) => name || language)).toEqual([
    'sh',
    'sh',
    'sh',
    'decide.py',
    'decide.js',
    'sh',
    'site/index.html',
    'server',
    'sh',
    'sh',
    'sh',
    'score.py',
  ]);
}, 1_800_000);
