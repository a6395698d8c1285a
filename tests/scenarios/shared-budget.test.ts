import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { earshot, startProcess, until } from '../experiments/cli/command-line.ts';
import { startServer } from '../experts/llm/service.ts';
import { numberedThreads } from '../experts/threads.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const usage = { input: 60, output: 140 };

async function setUp() {
  const server = await startServer(() => ({ text: 'Yes', usage, delayMs: 15 }));
  const model = { baseURL: server.baseURL, model: 'tiny', logprobs: 'off', maxTokens: 20, concurrency: 8 };
  const cwd = temporaryFolder({
    'threads.jsonl': numberedThreads(6)
      .map((thread) => JSON.stringify(thread))
      .join('\n'),
    'judge.yaml': { detector: { name: 'single-prompt', model }, task: 'rumor' },
  });
  const words = ['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'judge.yaml', '--json'];
  const spent = () => {
    const store = AnnotationStore.open(join(cwd, 'judged.sqlite'));
    const { spent, annotations } = store.stats();
    store.close();
    return { ...spent[0], annotations };
  };
  return { server, words, cwd, spent };
}

describe('processes with one budget', () => {
  it('send as many requests as it allows together, one of them killed, and none when they are run again', async () => {
    const { server, words, cwd, spent } = await setUp();
    const budget = ['--budget-requests', '120'];
    const running = [1, 2, 3].map(() => startProcess([...words, ...budget], { cwd }));
    await until(() => server.requests.length >= 30);
    running[0].signal('SIGKILL');
    const outcomes = await Promise.all(running.map(({ outcome }) => outcome));
    expect(outcomes.slice(1).map(({ code }) => code)).toEqual(outcomes.slice(1).map(() => 2));
    expect(outcomes[1].errors).toMatch(/budget of 120 requests is spent \(120 sent so far by judge/);
    // What the killed process had granted itself and not sent yet stays counted.
    const sent = server.requests.length;
    expect(sent).toBeLessThanOrEqual(120);
    expect(sent).toBeGreaterThan(120 - 16);
    expect((await earshot([...words, ...budget], { cwd })).code).toBe(2);
    expect(server.requests).toHaveLength(sent);
    expect(spent()).toMatchObject({ name: 'judge', requests: 120 });
    expect(spent().annotations).toBeGreaterThan(sent - 16);
  });

  it('take no more tokens than it allows, though answers are longer than estimated', async () => {
    const { server, words, cwd, spent } = await setUp();
    const budget = ['--budget-tokens', '10000'];
    const running = [1, 2].map(() => startProcess([...words, ...budget], { cwd }));
    const outcomes = await Promise.all(running.map(({ outcome }) => outcome));
    for (const { code, errors } of outcomes) {
      expect(code).toBe(2);
      expect(errors).toMatch(/budget of 10000 tokens is spent/);
    }
    const tokens = server.requests.length * (usage.input + usage.output);
    expect(tokens).toBeLessThanOrEqual(10_000);
    expect(spent()).toMatchObject({ requests: server.requests.length, tokens });
    expect(server.requests.length).toBeGreaterThan(20);
  });
});
