import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, inject, it, vi } from 'vitest';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { createSinglePrompt, singlePromptOptionsSchema } from '../../experts/detectors/single-prompt.ts';
import { BudgetSpentError, EndpointUnusableError } from '../../experts/llm/failures.ts';
import type { LiveChatOptions } from '../../experts/llm/sending/live-chat-service.ts';
import { Waits } from '../../experts/llm/waits.ts';
import { Random } from '../../src/tensor/random.ts';
import { outputOf } from '../child-output.ts';
import { lastMessage } from '../llm-server/scripted-rule.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { rumorTask } from './detectors/roles.ts';
import { quickService, startServer } from './llm/service.ts';
import { numberedThreads } from './threads.ts';

const threads = 3;
const prefixes = threads * 50;

/** Runs a command as in a container of its own: processes have other numbers there, the host has the same name. */
const inNamespace = ['unshare', '-Ur', '--pid', '--fork', '--mount-proc'];
const hasNamespaces = spawnSync(inNamespace[0], [...inNamespace.slice(1), 'true']).status === 0;

function startProcess(options: { store: string; url: string; apart?: boolean }) {
  const file = join(inject('compiledProgram'), 'tests/experts/annotate-process.js');
  const words = [file, '--store', options.store, '--url', options.url, '--threads', String(threads)];
  const [command, ...rest] = [...(options.apart && hasNamespaces ? inNamespace : []), process.execPath, ...words];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, ended: outputOf(child).outcome };
}

/** The prefix that a prompt ends with, as `thread 3 post 7`. */
function askedPrefix(prompt: string): string {
  return /thread \d+ post \d+(?=\n<\/evidence>$)/.exec(prompt)?.[0] ?? prompt;
}

function storedPrefixes(path: string): string[] {
  const store = AnnotationStore.open(path);
  const rows = [...store.getRows(store.keys()).values()];
  store.close();
  return rows.map(({ threadId, prefixLength }) => `${threadId} post ${prefixLength}`);
}

function singlePrompt(options: { url: string; service?: Partial<LiveChatOptions> }) {
  const model = { name: 'scripted', baseURL: options.url, model: 'tiny', logprobs: 'off' } as const;
  const config = singlePromptOptionsSchema.parse({ name: 'single-prompt', model });
  return createSinglePrompt({ options: config, task: rumorTask, service: quickService(options.service) });
}

describe('annotation', () => {
  it('survives kills at any moment: the store is whole, and nothing that it holds is asked again', async () => {
    // Under way when a process is killed: 4 questions, and 8 answers of the 50 ms between commits. Twice that is allowed
    // to be lost, because a busy machine runs timers late. Counted, not timed, for the same reason.
    const mayBeLost = 24;
    const asked: string[] = [];
    const server = await startServer((body) => {
      asked.push(askedPrefix(lastMessage(body)));
      return { text: 'Yes', delayMs: 20 };
    });
    const path = join(temporaryFolder(), 'judged.sqlite');
    const random = Random.seeded({ seed: 7, purpose: 'moments' });
    let stored: string[] = [];
    for (let kill = 0; kill < 2; kill++) {
      const before = asked.length;
      const { child, ended } = startProcess({ store: path, url: server.baseURL });
      const requests = 1 + random.integer(60);
      const watch = setInterval(() => {
        if (asked.length - before >= requests) child.kill('SIGKILL');
      }, 1);
      const { code, errors } = await ended;
      clearInterval(watch);
      expect(code, errors).toBe(null);

      const now = asked.slice(before);
      expect(now.filter((prefix) => stored.includes(prefix))).toEqual([]);
      stored = storedPrefixes(path);
      const database = new Database(path);
      expect(database.prepare('PRAGMA integrity_check').raw().all()).toEqual([['ok']]);
      database.close();
      const answered = now.slice(0, -mayBeLost);
      expect(answered.filter((prefix) => !stored.includes(prefix))).toEqual([]);
    }
    expect(stored.length).toBeGreaterThan(0);
    const before = asked.length;
    const { code, out } = await startProcess({ store: path, url: server.baseURL }).ended;
    expect({ code, ...JSON.parse(out) }).toEqual({
      code: 0,
      asked: prefixes - stored.length,
      cached: stored.length,
      failed: 0,
    });
    expect(asked.length - before).toBe(prefixes - stored.length);
    expect(new Set(storedPrefixes(path)).size).toBe(prefixes);
  });

  it('asks each question once when three processes judge the same threads at once, and again what a killed one left', async () => {
    const server = await startServer(() => ({ text: 'No', delayMs: 5 }));
    const path = join(temporaryFolder(), 'judged.sqlite');
    const all = [false, false, true].map((apart) => startProcess({ store: path, url: server.baseURL, apart }).ended);
    for (const { code, out, errors } of await Promise.all(all)) {
      expect(code, errors).toBe(0);
      const { asked, cached, failed } = JSON.parse(out);
      expect([asked + cached, failed]).toEqual([prefixes, 0]);
    }
    const stored = storedPrefixes(path);
    expect(stored).toHaveLength(prefixes);
    expect(new Set(stored).size).toBe(prefixes);
    expect(server.requests).toHaveLength(prefixes);

    const other = join(temporaryFolder(), 'judged.sqlite');
    const [killed, survivor] = [0, 1].map(() => startProcess({ store: other, url: server.baseURL }));
    const watch = setInterval(() => {
      if (server.requests.length >= prefixes + 40) killed.child.kill('SIGKILL');
    }, 1);
    const { code, errors } = await survivor.ended;
    clearInterval(watch);
    expect(code, errors).toBe(0);
    expect(new Set(storedPrefixes(other)).size).toBe(prefixes);
    // Twice what four questions under way and 50 ms between commits can lose.
    expect(server.requests.length).toBeLessThanOrEqual(2 * prefixes + 24);
  });

  it('ends at once where the budget does, keeps every answer and tells what remains', async () => {
    const server = await startServer(() => ({ text: 'Yes', delayMs: 2 }));
    const store = AnnotationStore.open(':memory:');
    const run = (requests: number) =>
      annotate({
        threads: numberedThreads(2),
        detector: singlePrompt({ url: server.baseURL, service: { budget: { requests } } }),
        store,
        concurrency: 8,
      });
    const first = await run(70);
    expect(first).toMatchObject({ asked: 70, cached: 0, failed: 0, remaining: 30, failures: [] });
    expect(first.stopped).toBeInstanceOf(BudgetSpentError);
    // The first thread was done; of the second too little is known.
    expect([...first.sequences.keys()]).toEqual(['thread 1']);
    expect(server.requests).toHaveLength(70);
    expect(store.stats().annotations).toBe(70);
    expect(await run(1000)).toMatchObject({ asked: 30, cached: 70, stopped: null, remaining: 0 });
    expect(server.requests).toHaveLength(100);
    store.close();
  });

  it('ends at once where an endpoint cannot be used', async () => {
    const server = await startServer(() => ({ status: 401, message: 'no' }));
    const store = AnnotationStore.open(':memory:');
    const result = await annotate({
      threads: numberedThreads(2),
      detector: singlePrompt({ url: server.baseURL }),
      store,
      concurrency: 4,
    });
    expect(result).toMatchObject({ asked: 0, failed: 0, remaining: 100 });
    expect(result.stopped).toBeInstanceOf(EndpointUnusableError);
    expect(server.requests.length).toBeLessThanOrEqual(4);
    store.close();
  });

  it('counts what Ctrl-C kept from being answered as not asked, and keeps the rest', async () => {
    const server = await startServer(() => ({ text: 'Yes', delayMs: 5 }));
    const store = AnnotationStore.open(':memory:');
    const controller = new AbortController();
    let failed = 0;
    const running = annotate({
      threads: numberedThreads(2),
      detector: singlePrompt({ url: server.baseURL, service: { signal: controller.signal } }),
      store,
      concurrency: 8,
      signal: controller.signal,
      onProgress: (counts) => {
        failed = counts.failed;
        if (counts.asked === 40) controller.abort(new Error('Ctrl-C'));
      },
    });
    await expect(running).rejects.toThrow('Ctrl-C');
    expect(failed).toBe(0);
    // Answers under way were paid for and are kept.
    expect(store.stats().annotations).toBe(server.requests.length);
    store.close();
  });

  it('tells every second what is waited for, though nothing is settled', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const server = await startServer(() => ({ fault: 'hang' }));
    const store = AnnotationStore.open(':memory:');
    const controller = new AbortController();
    const waits = new Waits();
    const told: unknown[] = [];
    const running = annotate({
      threads: numberedThreads(1),
      detector: singlePrompt({ url: server.baseURL, service: { signal: controller.signal, graceMs: 0 } }),
      store,
      waits,
      signal: controller.signal,
      onProgress: ({ done, waiting }) => told.push([done, waiting]),
    });
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    waits.begin({ kind: 'answer', what: 'an answer' });
    vi.advanceTimersByTime(7000);
    expect(told).toEqual([
      [0, null],
      [0, 'waiting 5 s for an answer'],
      [0, 'waiting 6 s for an answer'],
    ]);
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    vi.advanceTimersByTime(6000);
    expect(told).toHaveLength(3);
    vi.useRealTimers();
    store.close();
  });

  it('asks about the same texts once, also where two threads with them are judged at the same time', async () => {
    const server = await startServer(() => ({ text: 'Yes', delayMs: 5 }));
    const store = AnnotationStore.open(':memory:');
    // In different look-ups, the second while answers to the first are under way.
    const [first] = numberedThreads(1);
    const others = numberedThreads(1).flatMap(({ posts }) =>
      Array.from({ length: 24 }, (_, index) => ({ ...first, id: `copy ${index}`, posts: posts.slice(0, 3) })),
    );
    const detector = singlePrompt({ url: server.baseURL });
    const result = await annotate({ threads: others, detector, store, concurrency: 100 });
    expect(result).toMatchObject({ asked: 3, cached: 69, failed: 0 });
    expect(server.requests).toHaveLength(3);
    store.close();
  });
});
