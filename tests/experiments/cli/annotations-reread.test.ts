import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { startServer } from '../../experts/llm/service.ts';
import { completionOf } from '../../llm-server/completion-of.ts';
import type { ScriptedReply, ScriptedRule } from '../../llm-server/scripted-rule.ts';
import { moodyAnswer } from '../../scenarios/moody-model.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

async function setUp(rule: ScriptedRule, detector: (model: object) => object = (model) => ({ model })) {
  const server = await startServer(rule);
  const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', temperature: 0.5 };
  const file = { detector: { name: 'single-prompt', ...detector(model) }, task: 'rumor' };
  const cwd = temporaryFolder({
    'threads.jsonl': `${JSON.stringify(makeThread('t', { posts: 3 }))}\n`,
    'judge.yaml': file,
  });
  const command = (...words: string[]) => earshot(words, { cwd });
  return {
    server,
    command,
    async annotate() {
      const run = await command(
        'annotate',
        'threads.jsonl',
        '--store',
        's.sqlite',
        '--detector',
        'judge.yaml',
        '--json',
      );
      return { ...JSON.parse(run.out || 'null'), code: run.code, errors: run.errors };
    },
    async reread(...words: string[]) {
      const { out, errors, code } = await command('annotations', 'reread', 's.sqlite', ...words, '--json');
      expect(code, errors).toBe(0);
      return JSON.parse(out);
    },
    labels: async () =>
      JSON.parse((await command('annotations', 'list', 's.sqlite', '--json')).out).map(
        ({ detector: by, prefixLength, label }: Record<string, unknown>) => `${by} ${prefixLength} ${label}`,
      ),
    run(sql: string) {
      const database = new Database(join(cwd, 's.sqlite'));
      database.exec(sql);
      database.close();
    },
  };
}

const older = `reader = json_set(reader, '$.version', 0)`;

describe('annotations reread', () => {
  it('opens judgements that the readers of today read differently, where it is told to', async () => {
    const { server, command, annotate, reread, labels, run } = await setUp((body) =>
      body.messages[0].content.includes('3. ') ? '**No.**' : 'Yes',
    );
    await annotate();
    expect(await reread()).toMatchObject({
      answers: 3,
      questions: 3,
      byOtherVersions: 0,
      withoutAnswers: 0,
      changes: [],
    });
    // As if an older reader had taken the last one for a yes.
    run(`UPDATE response SET outcome = 'rumor', ${older} WHERE outcome = 'non-rumor'`);
    run(`UPDATE annotation SET judgement = json_set(judgement, '$.label', 'rumor', '$.probabilities', json('{"rumor": 1, "non-rumor": 0}'), '$.transcript[0].vote', 'rumor')
         WHERE prefix_length = 3`);
    const change = { detector: 'single-prompt', threadId: 't', prefixLength: 3, was: 'rumor', now: 'non-rumor' };
    expect(await reread()).toMatchObject({
      byOtherVersions: 1,
      changes: [change],
      written: false,
    });
    const told = (await command('annotations', 'reread', 's.sqlite')).out;
    expect(told).toMatch(
      /^3 answers to 3 questions read again, 1 of them read by other versions before \(readers: completion 3/,
    );
    expect(told).toMatch(/ t +3 {2}single-prompt +rumor +non-rumor$/m);
    expect(told).toContain('Nothing was written. With --write 1 questions are open again');
    expect(await labels()).toContain('single-prompt 3 rumor');
    expect((await command('annotations', 'reread', 's.sqlite', '--write')).out).toContain('1 questions are open again');
    expect(await annotate()).toMatchObject({ cached: 2, asked: 1 });
    expect(await labels()).toContain('single-prompt 3 non-rumor');
    const { judgement } = JSON.parse((await command('annotations', 'show', 's.sqlite', 't:3', '--json')).out);
    expect(judgement).toMatchObject({ probabilities: null, transcript: [{ vote: 'non-rumor' }] });
    expect(await reread()).toMatchObject({ byOtherVersions: 0, changes: [] });
    expect(server.requests).toHaveLength(3);
  });

  it('opens what could not be read and can be now: the next run asks nobody', async () => {
    const { server, annotate, reread, labels, run } = await setUp((body) =>
      body.messages[0].content.includes('3. ') ? 'No, I think' : 'Yes',
    );
    expect(await annotate()).toMatchObject({ asked: 2, unreadable: 1 });
    expect(server.requests).toHaveLength(4);
    expect(await reread('--write')).toMatchObject({ answers: 4, changes: [] });
    // As if the model had said what only today's reader understands.
    run(`UPDATE response SET body = json_set(body, '$.choices[0].message.content', 'No') WHERE outcome IS NULL`);
    expect(await reread('--write')).toMatchObject({
      changes: [
        { was: null, now: 'non-rumor' },
        { was: null, now: 'non-rumor' },
      ],
    });
    expect(await annotate()).toMatchObject({ asked: 1, cached: 2, unreadable: 0, code: 0 });
    expect(await labels()).toContain('single-prompt 3 non-rumor');
    expect(server.requests).toHaveLength(4);
  });

  it('opens what could be read and cannot be now: the next run asks only the repair', async () => {
    const { server, annotate, reread, labels, run } = await setUp(() => 'Yes');
    await annotate();
    run(`UPDATE response SET body = json_set(body, '$.choices[0].message.content', 'Yes?') WHERE number = 2`);
    expect(await reread('--write')).toMatchObject({ changes: [{ was: 'rumor', now: null }] });
    expect(await labels()).toHaveLength(2);
    expect(await annotate()).toMatchObject({ asked: 1, cached: 2 });
    expect(server.requests).toHaveLength(4);
    expect(server.requests[3].body.messages.at(-1)?.content).toBe('Answer Yes or No only.');
  });

  it('opens a debate of which an earlier answer is read otherwise', async () => {
    const { server, annotate, reread, labels, run } = await setUp(
      (body) => moodyAnswer(body),
      (model) => ({ name: 's2mad', endpoints: { tiny: model }, models: { supporter: 'tiny' }, rounds: 1 }),
    );
    await annotate();
    const before = await labels();
    const asked = server.requests.length;
    // An opinion whose judgement has later answers.
    run(`UPDATE response SET outcome = 'hm', ${older} WHERE number = (SELECT min(number) FROM response WHERE reader LIKE '%verdict%'
         AND judgement IN (SELECT key FROM annotation WHERE detector = 's2mad'))`);
    expect(await reread('--write')).toMatchObject({ changes: [{ detector: 's2mad', was: 'hm' }] });
    expect(await labels()).toHaveLength(before.length - 1);
    expect(await annotate()).toMatchObject({ asked: 1, failed: 0 });
    expect(await labels()).toEqual(before);
    expect(server.requests).toHaveLength(asked);
  });
});

it('annotations show says who answered, and another model than asked for is counted', async () => {
  const reply = (index: number): Extract<ScriptedReply, { body: string }> => {
    const asked = { model: 'tiny', messages: [] };
    const named = index === 0 ? { model: 'org/Tiny-2026-01-02', system_fingerprint: 'fp_7' } : { model: 'huge' };
    return { body: JSON.stringify({ ...completionOf({ reply: { text: 'Yes' }, asked }), ...named }) };
  };
  const { command, annotate } = await setUp((_body, { index }) => reply(index));
  expect(await annotate()).toMatchObject({ usage: [{ answers: 3, otherAnswers: 2, otherModels: ['huge'] }] });
  const first = (await command('annotations', 'show', 's.sqlite', 't:1')).out;
  expect(first).toMatch(/\nAnswer 1: answered by org\/Tiny-2026-01-02, fingerprint fp_7, finish reason stop,\s+20/);
  const second = (await command('annotations', 'show', 's.sqlite', 't:2', '--raw')).out;
  expect(second).toMatch(
    /\nAnswer 1: answered by huge, though tiny was asked, finish reason stop,\s+20.*\n\{"id":"scripted".*"model":"huge"/,
  );
  const { responses } = JSON.parse((await command('annotations', 'show', 's.sqlite', 't:2', '--json')).out);
  expect(responses).toMatchObject([{ model: 'huge', askedModel: 'tiny', finishReason: 'stop', outcome: 'rumor' }]);
});
