import { describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../../../experts/asking/ask-once.ts';
import { InputError, ProviderError } from '../../../../src/errors.ts';
import type { ChatBody } from '../../../llm-server/scripted-rule.ts';
import { threadOf } from '../../threads.ts';
import { quotedIn } from '../quoted.ts';
import {
  askedOf,
  categoryTask,
  detectorOf,
  type Part,
  phasesOf,
  prefix,
  role,
  rumorTask,
  startRoles,
} from '../roles.ts';

const scoreByText = (body: ChatBody) => {
  const comment = quotedIn(body.messages[0].content, 'Comment').join();
  const score = /Fake|did not/.test(comment) ? -0.8 : comment.includes('terrible') ? 0.6 : 0;
  return JSON.stringify({ reason: 'r', score });
};

const agreeing: Record<string, Part> = {
  scorer: scoreByText,
  classifier: 'No',
  supporter: ['I think so.\nnon-rumor', 'Still.\nnon-rumor', 'You have a point.\nrumor'],
  opposer: 'Nothing is confirmed.\nrumor',
  judge: 'Both argue well.\nnon-rumor',
};

function configAt(server: { baseURL: string }) {
  const models = {
    supporter: role(server, 'supporter'),
    opposer: role(server, 'opposer'),
    scorer: role(server, 'scorer'),
    classifier: role(server, 'classifier'),
    judge: role(server, 'judge'),
  };
  return { name: 's2mad' as const, models };
}

async function setUp(
  parts: Record<string, Part> = {},
  more: object = {},
  askOnce?: Parameters<typeof detectorOf>[0]['askOnce'],
) {
  const server = await startRoles({ ...agreeing, ...parts });
  const config = { ...configAt(server), ...more };
  const detector = await detectorOf({ config, task: rumorTask, askOnce });
  return { server, detector };
}

const scoring = (comments: number) => ['classifier', ...Array<string>(comments).fill('scorer')];
const both = ['opposer', 'supporter'];

describe('s2mad', () => {
  it('scores, classifies, and debates until both agree', async () => {
    const { server, detector } = await setUp();
    const judgement = await detector.judge(prefix(5));
    expect(judgement).toMatchObject({ label: 'rumor', probabilities: null });
    expect(phasesOf(server, [5, 2, 2, 2])).toEqual([scoring(4), both, both, both]);
    expect(judgement.usage.requests).toBe(4 + 1 + 2 + 2 * 2);
    expect(judgement.transcript.map(({ role: who }) => who)).toEqual([
      'scorer',
      'classifier',
      ...['supporter', 'opposer'],
      ...['supporter', 'opposer'],
      ...['supporter', 'opposer'],
    ]);
    expect(judgement.transcript[0].text).toBe('2: 0.6\n3: -0.8\n4: 0\n5: -0.8');
    expect(server.requests.every(({ body }) => body.temperature === 0.2)).toBe(true);
  });

  it('shows each debater its own side, and then what the other said', async () => {
    const { server, detector } = await setUp();
    await detector.judge(prefix(5));
    const [supporting, first, second] = askedOf(server, 'supporter');
    expect(quotedIn(supporting, 'Supporting comments')).toEqual(['1. Oh no, terrible']);
    expect(supporting).not.toContain('Fake news');
    expect(quotedIn(askedOf(server, 'opposer')[0], 'Opposing comments')).toEqual([
      '1. Fake news, no source',
      '2. It did not break',
    ]);
    expect(first).toContain('Nothing is confirmed.');
    expect(second).toContain('Nothing is confirmed.');
    expect(askedOf(server, 'opposer')[2]).toContain('Still.');
    const last = server.requests.findLast(({ body }) => body.model === 'supporter')?.body.messages ?? [];
    expect(last.map((message) => message.role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
  });

  it('asks the judge where they differ', async () => {
    const { server, detector } = await setUp({ supporter: 'It happened.\nnon-rumor' });
    const judgement = await detector.judge(prefix(5));
    expect(judgement.label).toBe('non-rumor');
    expect(phasesOf(server, [5, 2, 2, 2, 1])).toEqual([scoring(4), both, both, both, ['judge']]);
    expect(askedOf(server, 'judge')[0]).toMatch(
      /Agent P argues:\nIt happened\.[\s\S]*Agent N argues:\nNothing is confirmed\./,
    );
  });

  it('asks once more for the label of an opinion, then the judge, and the judge once more', async () => {
    const unsure = { supporter: 'Hard to say.', opposer: 'Hard to say.' };
    const { server, detector } = await setUp({ ...unsure, judge: 'Who knows?' });
    await expect(detector.judge(prefix(1))).rejects.toThrow(
      /twice with something other than non-rumor or rumor: neither it nor its last line is exactly one of these\. The answer began: "Who knows\?"/,
    );
    const four = [...both, ...both].sort();
    expect(phasesOf(server, [1, 4, 4, 4, 1, 1]).slice(1)).toEqual([four, four, four, ['judge'], ['judge']]);
    const repaired = await setUp({ ...unsure, judge: ['It is no rumor.', 'non-rumor'] });
    const judgement = await repaired.detector.judge(prefix(1));
    expect(judgement).toMatchObject({
      label: 'non-rumor',
      explanation: 'It is no rumor.\nnon-rumor',
      unreadableParts: 6,
      usage: { requests: 1 + 3 * 4 + 2 },
    });
    expect(judgement.transcript.slice(-2)).toMatchObject([
      { role: 'opposer', text: 'Hard to say.', usage: { requests: 2 } },
      { role: 'judge', text: 'It is no rumor.\nnon-rumor', vote: 'non-rumor', usage: { requests: 2 } },
    ]);
  });

  it('debates on with what was said at first where only the label was asked for again', async () => {
    const { server, detector } = await setUp(
      { supporter: ['It is one, I say.', 'rumor', 'So.\nrumor'] },
      { rounds: 1 },
    );
    expect(await detector.judge(prefix(1))).toMatchObject({ label: 'rumor', explanation: 'So.\nrumor' });
    expect(askedOf(server, 'supporter')[1]).toBe('Answer non-rumor or rumor only.');
    const conversation = server.requests.findLast(({ body }) => body.model === 'supporter')?.body.messages ?? [];
    expect(conversation[1]).toEqual({ role: 'assistant', content: 'It is one, I say.\nrumor' });
    expect(askedOf(server, 'opposer')[1]).toContain('It is one, I say.\nrumor');
  });

  it('takes the strongest comments of each side', async () => {
    const texts = ['claim', ...Array.from({ length: 6 }, (_, index) => `comment ${index + 1}`)];
    const scorer = (body: ChatBody) => {
      const number = Number(quotedIn(body.messages[0].content, 'Comment').join().replace('comment ', ''));
      return JSON.stringify({ reason: 'r', score: number <= 4 ? number / 10 : -number / 10 });
    };
    const { server, detector } = await setUp({ scorer }, { topComments: 2 });
    await detector.judge(prefix(7, threadOf({ id: 'many', texts })));
    expect(quotedIn(askedOf(server, 'supporter')[0], 'Supporting comments')).toEqual(['1. comment 3', '2. comment 4']);
    expect(quotedIn(askedOf(server, 'opposer')[0], 'Opposing comments')).toEqual(['1. comment 5', '2. comment 6']);
  });

  it('chooses the prompt by subjectivity, or one for all claims without asking', async () => {
    const subjective = await setUp({ classifier: 'Yes' });
    await subjective.detector.judge(prefix(1));
    expect(askedOf(subjective.server, 'supporter')[0]).toContain('satire');
    const forced = await setUp({ classifier: 'Yes' }, { claimPrompt: 'objective' });
    await forced.detector.judge(prefix(2));
    expect(askedOf(forced.server, 'supporter')[0]).toContain('credible sources');
    expect(phasesOf(forced.server, [1, 2, 2, 2])).toEqual([['scorer'], both, both, both]);
  });

  it('tells the scorer that neutral comments oppose the claim', async () => {
    const { server, detector } = await setUp();
    await detector.judge(prefix(2));
    expect(server.requests.find(({ body }) => body.model === 'scorer')?.body.messages[0].content).toContain(
      'If it does not support it, score it from -1.0 to below 0.0',
    );
  });

  it('deals out random comments without stance separation', async () => {
    const { server, detector } = await setUp({}, { stanceSeparation: false, topComments: 1 });
    await detector.judge(prefix(5));
    expect(phasesOf(server, [1, 2, 2, 2])).toEqual([['classifier'], both, both, both]);
    const shown = ['supporter', 'opposer'].map((who) => quotedIn(askedOf(server, who)[0], 'Comments')[0]?.slice(3));
    expect(new Set(shown).size).toBe(2);
    expect(shown).not.toContain(undefined);
  });

  it('draws them by the seed', async () => {
    const shownWith = async (seed: number) => {
      const { server, detector } = await setUp({}, { stanceSeparation: false, topComments: 1, rounds: 0, seed });
      await detector.judge(prefix(5));
      return ['supporter', 'opposer'].map((who) => quotedIn(askedOf(server, who)[0], 'Comments')[0]?.slice(3)).join();
    };
    const seeds = await Promise.all([1, 1, 2, 3, 4, 5].map(shownWith));
    expect(seeds[0]).toBe(seeds[1]);
    expect(new Set(seeds).size).toBeGreaterThan(1);
  });

  it('lets one agent decide without debate', async () => {
    const { server, detector } = await setUp({ supporter: 'Clear.\nrumor' }, { debate: false });
    expect((await detector.judge(prefix(5))).label).toBe('rumor');
    expect(phasesOf(server, [5, 1])).toEqual([scoring(4), ['supporter']]);
    expect(askedOf(server, 'supporter')[0]).toMatch(/Supporting comments \([\s\S]*Opposing comments \(/);
  });

  it('asks for the score of a comment once over growing prefixes, judged at once or in turn', async () => {
    const { server, detector } = await setUp({ supporter: 'So.\nrumor' });
    await Promise.all([1, 2, 3].map((length) => detector.judge(prefix(length))));
    await detector.judge(prefix(4));
    await detector.judge(prefix(5));
    expect(askedOf(server, 'scorer')).toHaveLength(4);
    expect(askedOf(server, 'classifier')).toHaveLength(1);
    expect(server.requests).toHaveLength(4 + 1 + 5 * 6);
  });

  it('remembers scores as annotations, also for other processes, and through an export', async () => {
    const store = AnnotationStore.open(':memory:');
    const first = await setUp({ supporter: 'So.\nrumor' }, {}, askOnceIn({ store }));
    const judgement = await first.detector.judge(prefix(5));
    // What is remembered counts its own usage.
    expect(judgement.usage.requests).toBe(6);
    expect(
      store.stats().byDetector.map(({ detector, annotations, requests }) => [detector, annotations, requests]),
    ).toEqual([
      ['s2mad/claim-subjectivity', 1, 1],
      ['s2mad/comment-score', 4, 4],
    ]);
    const again = await detectorOf({
      config: configAt(first.server),
      task: rumorTask,
      askOnce: askOnceIn({ store }),
    });
    expect((await again.judge(prefix(5))).label).toBe(judgement.label);
    expect(askedOf(first.server, 'scorer')).toHaveLength(4);
    expect(askedOf(first.server, 'classifier')).toHaveLength(1);
  });

  it('does without a score that cannot be read, counts it, and does not ask for it again', async () => {
    const store = AnnotationStore.open(':memory:');
    const { server, detector } = await setUp({ scorer: 'no idea', supporter: 'So.\nrumor' }, {}, askOnceIn({ store }));
    const judgement = await detector.judge(prefix(2));
    expect(judgement.transcript[0].text).toBe('2: unreadable');
    expect(judgement).toMatchObject({ label: 'rumor', unreadableParts: 1 });
    expect(await detector.judge(prefix(3))).toMatchObject({ unreadableParts: 2 });
    expect(askedOf(server, 'scorer')).toHaveLength(4);
    const counts = store.stats().byDetector.map((row) => [row.detector, row.annotations, row.unreadable]);
    expect(counts).toEqual([
      ['s2mad/claim-subjectivity', 1, 0],
      ['s2mad/comment-score', 0, 2],
    ]);
  });

  it('reads a score that is a number in quotes', async () => {
    const { server, detector } = await setUp({ scorer: '{"reason": "r", "score": "0.8"}', supporter: 'So.\nrumor' });
    expect((await detector.judge(prefix(2))).transcript[0].text).toMatch(/^2: 0\.8/);
    expect(askedOf(server, 'scorer')).toHaveLength(1);
  });

  it('forgets a score that could not be had, and asks again', async () => {
    let refuses = true;
    const scorer: Part = (body) => (refuses ? { status: 400, message: 'no' } : scoreByText(body));
    const { detector } = await setUp({ scorer, supporter: 'So.\nrumor' });
    await expect(detector.judge(prefix(2))).rejects.toThrow(ProviderError);
    refuses = false;
    expect((await detector.judge(prefix(2))).label).toBe('rumor');
  });

  it('says that it cannot judge categories', async () => {
    const server = await startRoles(agreeing);
    const config = { name: 's2mad' as const, models: { supporter: role(server, 'supporter') } };
    await expect(detectorOf({ config, task: categoryTask })).rejects.toThrow(InputError);
  });
});
