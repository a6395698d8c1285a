import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { startServer } from '../../experts/llm/service.ts';
import type { ScriptedReply, ScriptedRule } from '../../llm-server/scripted-rule.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

const threads = Array.from(
  { length: 4 },
  (_, index) => `${JSON.stringify(makeThread(`t${index}`, { posts: 5, rumor: index % 2 === 0 }))}\n`,
).join('');
const annotate = [
  'annotate',
  'threads.jsonl',
  '--store',
  'judged.sqlite',
  '--detector',
  'prompt.yaml',
  '--concurrency',
  '1',
];

async function setUp(rule: ScriptedRule, detector: object = {}) {
  const server = await startServer(rule);
  const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', logprobs: 'off' };
  const file = (own: object) => JSON.stringify({ detector: own, task: 'rumor', retry: { maxAttempts: 2, baseMs: 1 } });
  const cwd = temporaryFolder({
    'threads.jsonl': threads,
    'prompt.yaml': file({ name: 'single-prompt', model, ...detector }),
    'debate.yaml': file({ name: 'debate-single', models: { proponent: model }, rounds: 2 }),
  });
  return { server, cwd, command: (...words: string[]) => earshot(words, { cwd }) };
}

/** Whether the request is about the whole of thread 3, or the repair of its answer. */
const isBad = (text: string) => /4\. .*\n5\. .* of t3/.test(text);

describe('unreadable answers', () => {
  it('of one detector can be forgotten, so that the same command asks again', async () => {
    const { server, command } = await setUp((body) => (isBad(body.messages[0].content) ? 'hm' : 'No'));
    await command(...annotate);
    const forget = ['annotations', 'unreadable', 'judged.sqlite', '--forget', '--detector'];
    expect((await command(...forget, 's2mad')).out).toBe('no unreadable answers\n');
    expect((await command(...forget, 'single-prompt')).out).toMatch(/"hm" \(stop\)\n\nForgotten: 1\n$/);
    expect((await command('annotations', 'unreadable', 'judged.sqlite')).out).toBe('no unreadable answers\n');
    const { length } = server.requests;
    await command(...annotate);
    expect(server.requests).toHaveLength(length + 2);
  });

  it('that a judgement does without are counted beside it', async () => {
    const model = { name: 'scripted', model: 'tiny', temperature: 1, logprobs: 'off' };
    const { server, command, cwd } = await setUp((_, { index }) => (index % 2 === 0 ? 'No' : 'hm'));
    const file = { detector: { name: 'single-prompt', model: { ...model, baseURL: server.baseURL }, samples: 2 } };
    writeFileSync(join(cwd, 'prompt.yaml'), JSON.stringify({ ...file, task: 'rumor' }));
    const run = await command(...annotate);
    expect(run.code, run.errors).toBe(0);
    expect(run.out).toContain('20 votes, scores or probabilities could not be read');
    expect(run.errors).toContain('20 unreadable parts');
    const stats = await command('annotations', 'stats', 'judged.sqlite', '--json');
    expect(JSON.parse(stats.out).byDetector).toMatchObject([{ annotations: 20, unreadable: 0, unreadableParts: 20 }]);
  });

  it('are counted, kept with their text, and asked about again only where that is wanted', async () => {
    let heals = false;
    const { server, command, cwd } = await setUp((body) =>
      !heals && isBad(body.messages[0].content) ? "No, I can't help with that." : 'No',
    );
    const first = await command(...annotate);
    expect(first.code).toBe(2);
    expect(first.out).toContain('asked 19, cached 0, failed 1 (1 of them unreadable)\n');
    expect(first.errors).toContain('1 unreadable');
    expect(first.errors.trim().split('\n').at(-1)).toMatch(
      /^earshot: 1 prefix could not be judged \(1 answer could not be read\), such as the first 5 posts of thread t3: .*answered twice with something other than Yes or No.*I can't help.*Add --retry-unreadable to ask about them once more$/,
    );
    expect(server.requests).toHaveLength(19 + 2);

    const stats = await command('annotations', 'stats', 'judged.sqlite');
    expect(stats.out).toContain('19 annotations in judged.sqlite');
    expect(stats.out).toContain(', 1 answers that could not be read');
    expect(stats.out).toMatch(/^single-prompt +19 +1 /m);
    const listed = JSON.parse((await command('annotations', 'unreadable', 'judged.sqlite', '--json')).out);
    expect(listed).toMatchObject([{ threadId: 't3', prefixLength: 5, detector: 'single-prompt' }]);
    expect(listed[0].answers.map(({ text }: { text: string }) => text)).toEqual(
      new Array(2).fill("No, I can't help with that."),
    );
    expect((await command('annotations', 'unreadable', 'judged.sqlite')).out).toContain(
      'I can\'t help with that." (stop)',
    );
    expect((await command('annotations', 'export', 'judged.sqlite', 'out.jsonl')).out).toContain('19 annotations');

    const again = await command(...annotate, '--json');
    expect(again.code).toBe(2);
    expect(JSON.parse(again.out)).toMatchObject({ asked: 0, cached: 19, failed: 1, unreadable: 1 });
    expect(server.requests).toHaveLength(19 + 2);
    const dry = await command(...annotate, '--retry-unreadable', '--dry-run', '--json');
    expect(JSON.parse(dry.out)).toMatchObject({ toAsk: 1, cached: 19 });

    const scored = await command(
      'detect',
      'threads.jsonl',
      '--store',
      'judged.sqlite',
      '--detector',
      'prompt.yaml',
      '--at',
      'all',
      '--json',
    );
    expect(scored.code).toBe(2);
    expect(JSON.parse(scored.out)[0].trials[0]).toMatchObject({ unreadable: 1, at: [{ items: 4, unreadable: 1 }] });
    expect(scored.errors).toContain('with --retry-unreadable for the 1 whose answer could not be read');
    expect(server.requests).toHaveLength(19 + 2);

    heals = true;
    const retried = await command(...annotate, '--retry-unreadable', '--json');
    expect(retried.code, retried.errors).toBe(0);
    expect(JSON.parse(retried.out)).toMatchObject({ asked: 1, cached: 19, failed: 0, unreadable: 0 });
    expect(server.requests).toHaveLength(19 + 2 + 1);
    const store = AnnotationStore.open(`${cwd}/judged.sqlite`);
    expect(store.stats()).toMatchObject({ annotations: 20, unreadable: 0 });
    store.close();
  });

  it('end the run where they are too many', async () => {
    const { server, command } = await setUp(({ messages }) => (/ of t0\b/.test(messages[0].content) ? 'No' : 'Hm.'));
    const stopped = await command(...annotate, '--json');
    expect(stopped.code).toBe(2);
    expect(JSON.parse(stopped.out)).toMatchObject({ asked: 5, unreadable: 15, remaining: 0 });
    expect(stopped.errors).toMatch(
      /15 of 20 answers could not be read, more than the share of 0\.5 that is allowed; the last one: .*--max-unreadable \(of earshot annotate and detect\)/,
    );
    expect(server.requests).toHaveLength(5 + 15 * 2);
    const tolerant = await command(...annotate, '--retry-unreadable', '--max-unreadable', '1', '--json');
    expect(JSON.parse(tolerant.out)).toMatchObject({ asked: 0, cached: 5, unreadable: 15, stopped: null });
    expect((await command(...annotate, '--max-unreadable', '2')).errors).toContain(
      'It must be a share from 0 to 1, such as 0.1 or 10%.',
    );
  });

  it('end the run before more is asked, however much is asked at once', async () => {
    const more = Array.from({ length: 40 }, (_, index) => `${JSON.stringify(makeThread(`m${index}`, { posts: 5 }))}\n`);
    let isMute = true;
    const { server, cwd, command } = await setUp(() => ({ text: isMute ? 'Hm.' : 'No', delayMs: 5 }));
    writeFileSync(join(cwd, 'threads.jsonl'), more.join(''));
    const crowd = [...annotate.slice(0, -1), '64', '--json'];
    const stopped = await command(...crowd);
    expect(stopped.errors).toContain('20 of 20 answers could not be read');
    expect(JSON.parse(stopped.out)).toMatchObject({ asked: 0, unreadable: 20, remaining: 180 });
    expect(server.requests).toHaveLength(20 * 2);
    isMute = false;
    const heard = await command(...crowd);
    expect(JSON.parse(heard.out)).toMatchObject({ asked: 180, unreadable: 20, remaining: 0, stopped: null });
  });

  it('cost a debate nothing but the verdict that could not be read', async () => {
    let verdict: ScriptedReply | string = 'Well.';
    const { server, command } = await setUp((body) =>
      body.messages[0].content.includes('End with a line') ? verdict : 'One argument.',
    );
    const words = [
      'detect',
      'threads.jsonl',
      '--store',
      'judged.sqlite',
      '--detector',
      'debate.yaml',
      '--at',
      '0',
      '--json',
    ];
    expect(JSON.parse((await command(...words)).out)[0].trials[0]).toMatchObject({ asked: 0, unreadable: 4 });
    // Openings, two rounds of rebuttals and closings, then the judge and its repair.
    expect(server.requests).toHaveLength(4 * (8 + 2));
    verdict = '{"reason": "e", "answer": "Rumor"}';
    const retried = await command(...words, '--retry-unreadable');
    expect(retried.code, retried.errors).toBe(0);
    expect(JSON.parse(retried.out)[0].trials[0]).toMatchObject({ asked: 4, unreadable: 0 });
    expect(server.requests).toHaveLength(4 * (8 + 2) + 4);
  });

  it('of a batch are failures, too, without a repair', async () => {
    const { server, command } = await setUp(({ messages }) => (isBad(messages[0].content) ? 'Hm.' : 'No'));
    server.batches.pollsUntilDone = 1;
    const batch = await command(...annotate, '--batch', '--batch-poll', '0.05', '--json');
    expect(batch.code).toBe(2);
    expect(JSON.parse(batch.out)).toMatchObject({ asked: 19, failed: 1, unreadable: 1 });
    expect(server.requests).toHaveLength(0);
  });
});
