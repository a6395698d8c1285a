import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DetectorConfigInput } from '../../../experts/detectors/create-detector.ts';
import { Random } from '../../../src/tensor/random.ts';
import type { ScriptedLlmServer } from '../../llm-server/scripted-llm-server.ts';
import type { ChatBody } from '../../llm-server/scripted-rule.ts';
import { startServer } from '../llm/service.ts';
import { threadOf } from '../threads.ts';
import { quotedIn } from './quoted.ts';
import { detectorOf, prefix, role, rumorTask, verdict } from './roles.ts';

/** A number in [0, 1) that stands for a whole request: any difference in a prompt shows in the answer. */
function drawOf(body: ChatBody): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([body.model, body.messages]))
    .digest();
  return digest.readUInt32LE(0) / 2 ** 32;
}

const startMoody = () =>
  startServer((body) => {
    const draw = drawOf(body);
    const asked = body.messages.at(-1)?.content ?? '';
    if (asked.includes('"score"')) return JSON.stringify({ reason: 'r', score: Math.round(20 * draw - 10) / 10 });
    if (asked.includes('Yes or No')) return draw < 0.5 ? 'Yes' : 'No';
    return verdict(draw < 0.5 ? 'rumor' : 'non-rumor', `draw ${draw}`);
  });

const configs = (server: { baseURL: string }): DetectorConfigInput[] => {
  const m = (name: string) => role(server, name);
  return [
    { name: 'single-prompt', model: m('a') },
    { name: 'single-prompt', model: m('a'), reasons: true },
    { name: 's2mad', models: { supporter: m('a'), opposer: m('b') }, topComments: 2 },
    { name: 's2mad', models: { supporter: m('a') }, stanceSeparation: false, topComments: 1 },
    { name: 'debate-single', models: { proponent: m('a') }, rounds: 1 },
    { name: 'debate-team', models: { proponents: [m('a'), m('b')], judge: m('c') }, rounds: 1 },
    { name: 'debate-council', models: { members: [m('a'), m('b'), m('c')], chairperson: m('d') }, rounds: 2 },
  ];
};

const words = ['dam', 'broke', 'fake', 'really', 'source', 'sad', 'today'];

function randomThread(random: Random, id: string) {
  const text = () => Array.from({ length: 1 + random.integer(4) }, () => words[random.integer(words.length)]).join(' ');
  return threadOf({ id, texts: Array.from({ length: 3 + random.integer(4) }, text) });
}

describe('judgements of growing prefixes', () => {
  it('do not change when later posts are added', async () => {
    const server = await startMoody();
    const random = Random.seeded({ seed: 1, purpose: 'growing prefixes' });
    for (const config of configs(server)) {
      const warm = await detectorOf({ config, task: rumorTask });
      for (let round = 0; round < 2; round++) {
        const whole = randomThread(random, `thread-${round}`);
        const length = 1 + random.integer(whole.posts.length - 1);
        const cut = { ...whole, posts: whole.posts.slice(0, length) };
        // With and without the later posts, before and after they were judged, by the same detector and a fresh one.
        const fresh = await detectorOf({ config, task: rumorTask });
        const expected = await fresh.judge(prefix(length, cut));
        await warm.judge(prefix(whole.posts.length, whole));
        const { usage: _, ...judgement } = await warm.judge(prefix(length, whole));
        expect(expected).toMatchObject(judgement);
      }
    }
  });

  it('come from prompts that begin alike: all of the shorter up to its last post', async () => {
    const server = await startMoody();
    const texts = ['the claim', 'first comment', 'second comment', 'third comment'];
    const thread = threadOf({ id: 'grows', texts });
    for (const config of configs(server).filter(({ name }) => name !== 's2mad')) {
      const detector = await detectorOf({ config, task: rumorTask });
      const beginnings: string[] = [];
      for (let length = 1; length <= texts.length; length++) {
        const asked = await promptsOf(server, () => detector.judge(prefix(length, thread)));
        const own = new Set(asked.map((prompt) => upTo(prompt, texts[length - 1])));
        expect([config.name, own.size]).toEqual([config.name, 1]);
        beginnings.push(...own);
      }
      for (let index = 1; index < beginnings.length; index++)
        expect(beginnings[index].startsWith(beginnings[index - 1])).toBe(true);
    }
  });

  it("are so of s2mad's debaters, too, as long as no comment is pushed out", async () => {
    const server = await startServer((body) =>
      body.messages[0].content.includes('"score"')
        ? '{"reason": "r", "score": 0.5}'
        : body.messages[0].content.includes('Yes or No')
          ? 'No'
          : 'No.\nrumor',
    );
    const texts = ['the claim', 'first comment', 'second comment', 'third comment'];
    const detector = await detectorOf({
      config: { name: 's2mad', models: { supporter: role(server, 'a') }, rounds: 0 },
      task: rumorTask,
    });
    const thread = threadOf({ id: 'grows', texts });
    let before = '';
    for (let length = 2; length <= texts.length; length++) {
      const asked = await promptsOf(server, () => detector.judge(prefix(length, thread)));
      const opinion = asked.find((prompt) => quotedIn(prompt, 'Supporting comments')[0] === `1. ${texts[1]}`) ?? '';
      const beginning = upTo(opinion, texts[length - 1]);
      expect(beginning.startsWith(before)).toBe(true);
      before = beginning;
    }
  });
});

async function promptsOf(server: ScriptedLlmServer, work: () => Promise<unknown>): Promise<string[]> {
  const before = server.requests.length;
  await work();
  return server.requests.slice(before).map(({ body }) => body.messages.map(({ content }) => content).join('\n'));
}

function upTo(prompt: string, text: string): string {
  const at = prompt.indexOf(text);
  expect(at).toBeGreaterThan(0);
  return prompt.slice(0, at + text.length);
}
