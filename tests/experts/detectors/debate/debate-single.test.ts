import { describe, expect, it } from 'vitest';
import { MalformedAnswerError } from '../../../../experts/llm/failures.ts';
import type { JudgingTask } from '../../../../experts/tasks/task-file.ts';
import { ProviderError } from '../../../../src/errors.ts';
import {
  askedOf,
  categoryTask,
  detectorOf,
  fourWayTask,
  type Part,
  phasesOf,
  prefix,
  role,
  rumorTask,
  startRoles,
  verdict,
} from '../roles.ts';

const speaking =
  (who: string): Part =>
  (_body, turn) => ({ text: `${who} speaks ${turn}`, delayMs: 10 });

async function setUp(judge: Part, options: { rounds?: number; task?: JudgingTask } = {}) {
  const { task = rumorTask, ...more } = options;
  const server = await startRoles({ proponent: speaking('P'), opponent: speaking('O'), judge });
  const models = {
    proponent: role(server, 'proponent'),
    opponent: role(server, 'opponent'),
    judge: role(server, 'judge'),
  };
  const detector = await detectorOf({ config: { name: 'debate-single', models, ...more }, task });
  return { server, detector };
}

describe('debate-single', () => {
  it('opens, rebuts three times in turn, closes, and lets the judge decide', async () => {
    const { server, detector } = await setUp(verdict('rumor', 'nobody confirmed it'));
    const judgement = await detector.judge(prefix(3));
    expect(judgement).toMatchObject({ label: 'rumor', explanation: 'nobody confirmed it', usage: { requests: 11 } });
    const both = ['opponent', 'proponent'];
    const round = [['proponent'], ['opponent']];
    expect(phasesOf(server, [2, 1, 1, 1, 1, 1, 1, 2, 1])).toEqual([
      both,
      ...round,
      ...round,
      ...round,
      both,
      ['judge'],
    ]);
    expect(judgement.transcript.map(({ role: who }) => who)).toEqual([
      ...Array.from({ length: 5 }, () => ['proponent', 'opponent']).flat(),
      'judge',
    ]);
  });

  it('lets each rebuttal hear what came before, and the judge all of it', async () => {
    const { server, detector } = await setUp(verdict('non-rumor'), { rounds: 1 });
    expect((await detector.judge(prefix(2))).label).toBe('non-rumor');
    const [opening, rebuttal, closing] = askedOf(server, 'proponent');
    expect(opening).not.toContain('O speaks');
    expect(rebuttal).toContain('O speaks 0');
    expect(askedOf(server, 'opponent')[1]).toContain('P speaks 1');
    expect(closing).toContain('O speaks 1');
    const [judged] = askedOf(server, 'judge');
    for (const who of ['P', 'O']) for (const turn of [0, 1, 2]) expect(judged).toContain(`${who} speaks ${turn}`);
    expect(opening).toContain('argue that the answer is "rumor": not verified');
    expect(askedOf(server, 'opponent')[0]).toContain('argue that the answer is "non-rumor": established');
  });

  it('debates each category by itself and applies the implications', async () => {
    const judge: Part = (body) => verdict(/Does this hold.*a study/.test(body.messages[0].content) ? 'yes' : 'no');
    const { server, detector } = await setUp(judge, { rounds: 0, task: categoryTask });
    server.gathers = 3;
    const judgement = await detector.judge(prefix(1));
    expect(judgement.label).toBe('reference + entities');
    expect(server.requests).toHaveLength(3 * 5);
    expect(judgement.transcript[0]).toMatchObject({ role: 'proponent', round: 'claim: Opening statements' });
    expect(judgement.explanation).toBe('claim: because no\nreference: because yes\nentities: because no');
    expect(server.maxConcurrency).toBeGreaterThan(2);
  });

  it('gives each of four labels a side', async () => {
    const { server, detector } = await setUp(verdict('false'), { rounds: 1, task: fourWayTask });
    const judgement = await detector.judge(prefix(1));
    expect(judgement.label).toBe('false');
    expect(server.requests).toHaveLength(4 + 4 + 4 + 1);
    expect(judgement.transcript.slice(0, 4).map(({ role: who }) => who)).toEqual([
      'proponent',
      'opponent for false',
      'opponent for true',
      'opponent for non-rumor',
    ]);
  });

  it('repairs a verdict once, then fails as a call does', async () => {
    const repaired = await setUp(['Rumor, I say', verdict('rumor')], { rounds: 0 });
    const judgement = await repaired.detector.judge(prefix(1));
    expect(judgement).toMatchObject({ label: 'rumor', usage: { requests: 6 } });
    const failing = await setUp('Rumor, I say', { rounds: 0 });
    const failure = await failing.detector.judge(prefix(1)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ProviderError);
    expect(failure).toBeInstanceOf(MalformedAnswerError);
  });

  it('ends the other debates when one fails', async () => {
    const judge: Part = (body) =>
      /Does this hold.*a study/.test(body.messages[0].content)
        ? { status: 400, message: 'refused' }
        : { text: verdict('no'), delayMs: 5000 };
    const { detector } = await setUp(judge, { rounds: 0, task: categoryTask });
    await expect(detector.judge(prefix(1))).rejects.toThrow(/refused/);
  });
});
