import { describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../../../experts/asking/ask-once.ts';
import { type ChatExample, chooseExamples, showableExamples } from '../../../../experts/task-models/chat/tuning.ts';
import { InputError } from '../../../../src/errors.ts';
import { Random } from '../../../../src/tensor/random.ts';
import type { ScriptedLlmServer } from '../../../llm-server/scripted-llm-server.ts';
import { startServer } from '../../llm/service.ts';
import { reply, shownPost, stanceExample, stanceModel } from './models.ts';

function lastAsked(server: ScriptedLlmServer): string[] {
  return server.requests.at(-1)?.body.messages.map(({ content }) => content.replace(/^.*\n\n/s, '')) ?? [];
}

/** The posts shown in the last request, each with its answer. */
function shown(server: ScriptedLlmServer): string[] {
  const turns = lastAsked(server).slice(0, -1);
  return turns.flatMap((turn, index) =>
    index % 2 === 0 ? [`${/\n(.*)\n<\/evidence>$/.exec(turn)?.[1]} → ${turns[index + 1]}`] : [],
  );
}

describe('in-context tuning', () => {
  it('shows the first examples of each class in turn, as earlier turns, with their reasons', async () => {
    const server = await startServer(() => 'Deny');
    const model = stanceModel({ server, options: { examplesShown: 5 } });
    await model.tune([
      stanceExample('s1', 0, 'a', 'It agrees.'),
      stanceExample('s2', 0),
      stanceExample('s3', 0),
      stanceExample('c1', 3),
      stanceExample('d1', 1),
      stanceExample('d2', 1),
    ]);
    await model.predict([reply('new')]);
    expect(server.requests[0].body.messages.map(({ role }) => role)).toEqual([
      ...Array.from({ length: 5 }, () => ['user', 'assistant']).flat(),
      'user',
    ]);
    expect(shown(server)).toEqual([
      's1 → It agrees.\nSupport',
      'd1 → Deny',
      'c1 → Comment',
      's2 → Support',
      'd2 → Deny',
    ]);
    expect(lastAsked(server).at(-1)).toBe(shownPost('The dam broke', 'new'));
    const [{ content }] = server.requests[0].body.messages;
    expect(content).toMatch(/^There is a claim/);
    expect(content.endsWith(`\n\n${shownPost('claim of a', 's1')}`)).toBe(true);
  });

  it("leaves out the item's own thread, and its words in another one, and fills up with others", async () => {
    const server = await startServer(() => 'Deny');
    const model = stanceModel({ server, options: { examplesShown: 2 } });
    await model.tune([
      stanceExample('s1', 0, 'dam'),
      { item: reply('new', 'copy'), label: 0, explanation: '' },
      stanceExample('s2', 0, 'dam'),
      stanceExample('s3', 0),
      stanceExample('d1', 1, 'dam'),
      stanceExample('d2', 1),
    ]);
    await model.predict([reply('new')]);
    expect(shown(server)).toEqual(['s3 → Support', 'd2 → Deny']);
    await model.predict([reply('new', 'elsewhere', 'Another claim')]);
    expect(shown(server)).toEqual(['s1 → Support', 'd1 → Deny']);
  });

  it('shows pretraining examples while there are no others, unless told not to', async () => {
    const server = await startServer(() => 'Deny');
    const model = stanceModel({ server });
    await model.pretrain([stanceExample('p', 2)]);
    await model.predict([reply('new')]);
    expect(shown(server)).toEqual(['p → Question']);
    await model.tune([stanceExample('t', 1, 'dam'), stanceExample('u', 1)]);
    await model.predict([reply('new')]);
    expect(shown(server)).toEqual(['u → Deny']);
    await model.tune([stanceExample('t', 1, 'dam')]);
    await model.predict([reply('new')]);
    expect(shown(server)).toEqual(['p → Question']);
    await model.tune([]);
    await model.predict([reply('newer')]);
    expect(shown(server)).toEqual(['p → Question']);
  });

  it('asks anew after other examples, and not after the same', async () => {
    const server = await startServer(() => 'Deny');
    const askOnce = askOnceIn({ store: AnnotationStore.open(':memory:') });
    const model = stanceModel({ server, askOnce });
    const asked = async (threadId = 'dam') => {
      const before = server.requests.length;
      await model.predict([reply('new', threadId)]);
      return server.requests.length - before;
    };
    expect(await asked()).toBe(1);
    await model.tune([stanceExample('t', 1)]);
    expect([await asked(), await asked(), await asked('other')]).toEqual([1, 0, 0]);
    await model.tune([stanceExample('t', 1, 't', 'with a reason')]);
    expect(await asked()).toBe(1);
    await model.tune([stanceExample('t', 1)]);
    expect([await asked(), await asked('t')]).toEqual([0, 0]);
  });

  it('asks the same after its state went through JSON', async () => {
    const server = await startServer(() => 'Deny');
    const model = stanceModel({ server });
    await model.pretrain([stanceExample('p', 2)]);
    await model.tune([stanceExample('t', 1, 'dam', 'r'), stanceExample('u', 0)]);
    const { arrays, json } = model.state();
    expect(arrays).toEqual({});
    const later = stanceModel({ server });
    later.restore({ arrays: {}, json: JSON.parse(JSON.stringify(json)) });
    for (const item of [reply('new'), reply('new', 'other'), reply('x', 'u', 'claim of u')]) {
      await model.predict([item]);
      await later.predict([item]);
      const [one, other] = server.requests.slice(-2).map(({ body }) => body);
      expect(other).toEqual(one);
    }
    expect(later.state()).toEqual(model.state());
    expect(() => later.restore({ arrays: {}, json: { tuning: 'by heart' } })).toThrow(InputError);
  });

  it('keeps few of many examples, but all that can be shown whichever thread is left out', () => {
    const random = Random.seeded({ seed: 3, purpose: 'examples' });
    for (let round = 0; round < 40; round++) {
      const threads = 1 + random.integer(5);
      const all: ChatExample[] = Array.from({ length: 200 }, (_, index) => {
        const threadId = `t${Math.floor(random.uniform() ** 2 * threads)}`;
        return { threadId, subject: `${index}`, label: random.integer(3), question: `${index}`, answer: '' };
      });
      const kept = showableExamples({ examples: all, shown: 4 });
      expect(kept.length).toBeLessThanOrEqual(3 * 2 * 5);
      for (const threadId of ['t0', 't1', 't2', 't3', 't4', 'none'])
        for (const subject of ['0', '1', '2', '7', 'none']) {
          const left = { shown: 4, threadId, subject };
          expect(chooseExamples({ examples: kept, ...left })).toEqual(chooseExamples({ examples: all, ...left }));
        }
    }
  });

  it('keeps little of a large data set, quickly', () => {
    const all: ChatExample[] = Array.from({ length: 21_000 }, (_, index) => {
      return { threadId: `${index}`, subject: `${index}`, label: index % 3, question: `${index}`, answer: '' };
    });
    expect(showableExamples({ examples: all, shown: 8 }).length).toBeLessThanOrEqual(3 * 10);
  });
});
