import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { outputOf } from '../../child-output.ts';
import { startServer } from '../../experts/llm/service.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { biasedBundle, json } from '../serve/small-server.ts';
import { earshot, until } from './command-line.ts';

const launcher = join(inject('compiledProgram'), 'experiments/cli/earshot.mjs');

/** `earshot serve` in a process of its own, at a free port. */
async function started(words: readonly string[], { cwd, env = {} }: { cwd: string; env?: Record<string, string> }) {
  const child = spawn(process.execPath, [launcher, 'serve', ...words, '--port', '0'], {
    cwd,
    env: { ...process.env, NODE_OPTIONS: '', ...env },
  });
  const { outcome: ended, out, errors } = outputOf(child);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until(() => errors().includes(' at http://') || child.exitCode !== null);
  const address = /at (http:\/\/\S+);/.exec(errors())?.[1] ?? '';
  return { child, ended, address, out, errors };
}

/** Whether there is such a process. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const ask = (address: string, id: string) =>
  fetch(`${address}/v1/threads/${id}/posts`, {
    method: 'POST',
    body: JSON.stringify({ posts: [{ id: 'a', text: `the text of a post of ${id}` }] }),
    headers: json,
  });

describe('serve', () => {
  it('says what is wrong before it listens', async () => {
    const cwd = temporaryFolder();
    const folder = await biasedBundle(50);
    const fails = async (...words: string[]) => {
      const { code, errors } = await earshot(['serve', ...words], { cwd });
      return `${code} ${errors}`;
    };
    expect(await fails('nowhere')).toMatch(/^1 earshot: there is no nowhere/);
    expect(await fails(folder, '--host', '0.0.0.0')).toMatch(
      /^1 earshot: 0\.0\.0\.0 can be reached from other machines/,
    );
    expect(await fails(folder, '--sessions', 'here')).toMatch(
      /^1 earshot: --sessions is "here"; give memory, or an address/,
    );
    expect(await fails(folder, '--sessions', 'redis://127.0.0.1:1')).toMatch(
      /^2 earshot: Redis at redis:\/\/127\.0\.0\.1:1 cannot be used/,
    );
    expect(await fails(folder, '--detector', 'no.yaml')).toMatch(/^1 earshot: there is no no\.yaml/);
    expect(await fails(folder, '--budget-money', '5')).toMatch(/^1 earshot: --budget-money is for language models/);
    expect(await fails(folder, '--log-level', 'loud')).toMatch(/^1 error: .* choices are error, info, silent/);
  });

  it('finishes 60 requests that wait for a language model when it gets SIGTERM, and asks once a thread', async () => {
    const model = await startServer(() => ({ text: 'Yes', delayMs: 300 }));
    const endpoint = { name: 'scripted', baseURL: model.baseURL, model: 'tiny', logprobs: 'off', maxTokens: 5 };
    const file = { detector: { name: 'single-prompt', model: endpoint }, task: 'rumor' };
    const cwd = temporaryFolder({ 'prompt.yaml': JSON.stringify(file) });
    const server = await started([await biasedBundle(50), '--detector', 'prompt.yaml', '--drain', '3'], { cwd });
    expect(server.errors()).toMatch(/^earshot: serving bundle at http:\/\/127\.0\.0\.1:\d+; http\S+\/docs shows/);
    const answers = Array.from({ length: 60 }, (_, index) => ask(server.address, `t${index % 30}`));
    // In the middle: half of the questions were asked, so all of the requests have had time to arrive.
    await until(() => model.requests.length >= 15);
    server.child.kill('SIGTERM');
    for (const response of await Promise.all(answers)) {
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ decision: 'stop', prediction: { label: 'rumor' } });
    }
    expect((await server.ended).code).toBe(0);
    expect(model.requests).toHaveLength(30);
    const lines = server
      .out()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ msg, status }) => msg === 'answered' && status === 200)).toHaveLength(60);
    expect(server.out() + server.errors()).not.toContain('the text of a post');
  });

  it.each([
    ['has ended', 'SIGKILL'],
    ['has closed the pipe at its standard input', 'end'],
  ])('ends with its parent, where it is told to, when that %s', async (_, how) => {
    const cwd = temporaryFolder();
    const folder = await biasedBundle(50);
    // As npx does: a process between this one and the server that passes nothing on. Output goes to a file, which no one closes.
    const words = ['serve', folder, '--port', '0', '--with-parent'];
    const between = `
      const { openSync } = require('node:fs');
      const out = openSync('out', 'a');
      const stdio = [process.argv[2] === 'end' ? 'pipe' : 'ignore', out, out];
      const child = require('node:child_process').spawn(process.execPath, [process.argv[1], ...${JSON.stringify(words)}], { stdio });
      process.on('SIGTERM', () => child.stdin.end());
      console.log(child.pid);`;
    const parent = spawn(process.execPath, ['-e', between, launcher, how], { cwd });
    const { out: pid } = outputOf(parent);
    onTestFinished(() => {
      parent.kill('SIGKILL');
      if (isAlive(Number(pid()))) process.kill(Number(pid()), 'SIGKILL');
    });
    const printed = () => (existsSync(join(cwd, 'out')) ? readFileSync(join(cwd, 'out'), 'utf8') : '');
    await until(() => printed().includes('; http://'));
    const address = /at (http:\/\/\S+);/.exec(printed())?.[1] ?? '';
    expect((await fetch(`${address}/v2/health/live`)).status).toBe(200);
    parent.kill(how === 'end' ? 'SIGTERM' : 'SIGKILL');
    await until(() => !isAlive(Number(pid())));
    await expect(fetch(`${address}/v2/health/live`)).rejects.toThrow();
  });

  it('answers without a prediction when the budget is spent, and loads bundles anew at SIGHUP', async () => {
    const model = await startServer(() => 'Yes');
    const endpoint = { name: 'scripted', baseURL: model.baseURL, model: 'tiny', logprobs: 'off', maxTokens: 5 };
    const file = { detector: { name: 'single-prompt', model: endpoint }, task: 'rumor', budget: { requests: 0 } };
    const cwd = temporaryFolder({ 'prompt.yaml': JSON.stringify(file) });
    const server = await started([await biasedBundle(50), '--detector', 'prompt.yaml'], { cwd });
    const response = await ask(server.address, 't');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      decision: 'stop',
      prediction: null,
      predictionMissing: expect.stringContaining('the budget of 0 requests is spent'),
    });
    expect(model.requests).toHaveLength(0);
    const loaded = () => server.out().split('the golden threads are decided').length - 1;
    expect(loaded()).toBe(1);
    server.child.kill('SIGHUP');
    await until(() => loaded() === 2);
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
  });
});
