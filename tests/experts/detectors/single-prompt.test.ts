import { describe, expect, it } from 'vitest';
import { MalformedAnswerError } from '../../../experts/llm/failures.ts';
import { InputError } from '../../../src/errors.ts';
import { threadOf } from '../threads.ts';
import { quotedIn } from './quoted.ts';
import { askedOf, categoryTask, detectorOf, type Part, prefix, role, rumorTask, startRoles } from './roles.ts';

type More = Partial<Extract<Parameters<typeof detectorOf>[0]['config'], { name: 'single-prompt' }>>;

async function setUp(part: Part, more: More = {}, endpoint: Parameters<typeof role>[2] = {}, task = rumorTask) {
  const server = await startRoles({ judge: part });
  const config = { name: 'single-prompt' as const, model: role(server, 'judge', endpoint), ...more };
  return { server, detector: await detectorOf({ config, task }) };
}

describe('single-prompt', () => {
  it('asks one question over the numbered posts', async () => {
    const { server, detector } = await setUp('Yes');
    const judgement = await detector.judge(prefix(2));
    expect(judgement).toMatchObject({ label: 'rumor', probabilities: null, usage: { requests: 1 } });
    expect(judgement.transcript).toEqual([
      { role: 'judge', text: 'Yes', vote: 'rumor', model: 'judge', usage: judgement.usage },
    ]);
    const [asked] = askedOf(server, 'judge');
    expect(asked).toMatch(/Is it a rumor\? Respond Yes or No only\.\nPosts \(quoted evidence.*\)/);
    expect(quotedIn(asked, 'Posts')).toEqual(['1. A dam broke', '2. Oh no, terrible']);
    expect(server.requests).toHaveLength(1);
  });

  it('takes probabilities from the tokens where the endpoint tells them', async () => {
    const { server, detector } = await setUp(
      { text: 'No', tokens: [{ No: 0.6, Yes: 0.2 }] },
      { samples: 5 },
      { temperature: 1 },
    );
    const { label, probabilities } = await detector.judge(prefix(2));
    expect(label).toBe('non-rumor');
    expect(probabilities?.rumor).toBeCloseTo(0.25);
    expect(probabilities?.['non-rumor']).toBeCloseTo(0.75);
    expect(server.requests).toHaveLength(1);
  });

  it('samples where the endpoint tells none, and takes the most frequent answer', async () => {
    const part = ['No', 'Yes', 'Yes', 'Maybe', 'Yes'];
    const { server, detector } = await setUp(part, { samples: 5 }, { temperature: 1, seed: 7 });
    const judgement = await detector.judge(prefix(2));
    expect(judgement).toMatchObject({ label: 'rumor', probabilities: { rumor: 0.75, 'non-rumor': 0.25 } });
    expect(judgement.usage.requests).toBe(5);
    expect(new Set(server.requests.map(({ body }) => body.seed))).toEqual(new Set([7, 8, 9, 10, 11]));
  });

  it('reads the first post and as many random comments as it may, in their order, the same ones every time', async () => {
    const texts = ['the claim', ...Array.from({ length: 30 }, (_, index) => `comment ${index}`)];
    const long = threadOf({ id: 'long', texts });
    const { server, detector } = await setUp('Yes', { comments: 5 });
    for (let time = 0; time < 2; time++) await detector.judge(prefix(31, long));
    const [first, second] = askedOf(server, 'judge').map((asked) => quotedIn(asked, 'Posts'));
    expect(second).toEqual(first);
    expect(first).toHaveLength(6);
    const places = first.map((line) => texts.indexOf(line.replace(/^\d+\. /, '')));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toEqual([0, 1, 2, 3, 4, 5]);
    const other = await setUp('Yes', { comments: 5, seed: 2 });
    await other.detector.judge(prefix(31, long));
    expect(quotedIn(askedOf(other.server, 'judge')[0], 'Posts')).not.toEqual(first);
  });

  it('reasons before it answers where it is told to', async () => {
    const { server, detector } = await setUp('Nobody else reports it.\nYes', { reasons: true });
    expect(await detector.judge(prefix(2))).toMatchObject({ label: 'rumor', explanation: 'Nobody else reports it.' });
    expect(askedOf(server, 'judge')[0]).toMatch(
      /Think step by step .*\n[\s\S]*\n\nEnd with a line of its own that is exactly one of these: Yes or No\.$/,
    );
  });

  it('refuses to sample at temperature 0', async () => {
    await expect(setUp('Yes', { samples: 3 })).rejects.toThrow(InputError);
  });

  it('asks once more where an answer is neither word, and gives no judgement where that does not help', async () => {
    const maybe = { text: 'Maybe', tokens: [{ Maybe: 0.6, Yes: 0.2 }] };
    const { server, detector } = await setUp([maybe, maybe, maybe, 'No']);
    await expect(detector.judge(prefix(2))).rejects.toThrow(MalformedAnswerError);
    expect(server.requests).toHaveLength(2);
    expect(askedOf(server, 'judge')[1]).toBe('Answer Yes or No only.');
    const repaired = await detector.judge(prefix(2));
    expect(repaired).toMatchObject({ label: 'non-rumor', probabilities: null, usage: { requests: 2 } });
    expect(repaired.transcript.map(({ text }) => text)).toEqual(['Maybe', 'No']);
  });

  it('asks about each category by itself and combines them', async () => {
    const yes = { text: 'Yes', tokens: [{ Yes: 0.9, No: 0.1 }] };
    const no = { text: 'No', tokens: [{ No: 0.8, Yes: 0.2 }] };
    const { server, detector } = await setUp(
      (body) => (body.messages[0].content.includes('a study') ? yes : no),
      {},
      {},
      categoryTask,
    );
    const { label, probabilities } = await detector.judge(prefix(1));
    expect(label).toBe('reference + entities');
    expect(probabilities?.['reference + entities']).toBeCloseTo(0.8 * 0.9);
    expect(probabilities?.reference).toBe(0);
    expect(Object.values(probabilities ?? {}).reduce((sum, value) => sum + value)).toBeCloseTo(1);
    expect(server.requests).toHaveLength(3);
  });

  it('gives no judgement where one category cannot be read', async () => {
    const part: Part = (body) => (body.messages[0].content.includes('a study') ? 'Perhaps' : 'No');
    const { detector } = await setUp(part, {}, {}, categoryTask);
    await expect(detector.judge(prefix(1))).rejects.toThrow(MalformedAnswerError);
  });
});
