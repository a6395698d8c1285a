import { describe, expect, it } from 'vitest';
import type { JudgingTask } from '../../../../experts/tasks/task-file.ts';
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

const members = ['p1', 'p2', 'o1', 'o2', 'o3'];
const speaking =
  (who: string): Part =>
  (_body, turn) =>
    `${who} speaks ${turn}`;

async function setUp(options: { rounds?: number; discussionTurns?: number; task?: JudgingTask; judge?: Part } = {}) {
  const { task = rumorTask, judge = verdict('rumor'), ...more } = options;
  const server = await startRoles({ ...Object.fromEntries(members.map((name) => [name, speaking(name)])), judge });
  const team = (letter: string) => members.filter((name) => name.startsWith(letter)).map((name) => role(server, name));
  const models = { proponents: team('p'), opponents: team('o'), judge: role(server, 'judge') };
  const detector = await detectorOf({ config: { name: 'debate-team', models, ...more }, task });
  return { server, detector };
}

const inOrder = (asked: readonly string[], letter: string) => asked.filter((name) => name.startsWith(letter));

describe('debate-team', () => {
  it('discusses within teams, argues, and again in each of five rounds, then the judge decides', async () => {
    const { server, detector } = await setUp();
    const judgement = await detector.judge(prefix(2));
    expect(judgement.label).toBe('rumor');
    const phase = [...members].sort();
    expect(phasesOf(server, [...Array<number>(12).fill(5), 1])).toEqual([
      ...Array<string[]>(12).fill(phase),
      ['judge'],
    ]);
    expect(judgement.usage.requests).toBe(6 * 2 * 5 + 1);
    // Within a team one speaks after the other.
    const asked = server.requests.map(({ body }) => body.model);
    expect(inOrder(asked, 'p')).toEqual(Array.from({ length: 12 }, () => ['p1', 'p2']).flat());
    expect(inOrder(asked, 'o')).toEqual(Array.from({ length: 12 }, () => ['o1', 'o2', 'o3']).flat());
  });

  it('keeps discussions within the team and out of the judge', async () => {
    const { server, detector } = await setUp({ rounds: 1 });
    const judgement = await detector.judge(prefix(2));
    const [discussed, argued, planned] = askedOf(server, 'p2');
    expect(discussed).toContain('p1 speaks 0');
    expect(argued).toContain('p1 speaks 0');
    expect(argued).toContain('p1 speaks 1');
    expect(argued).not.toContain('o1 speaks');
    expect(planned).toContain('o3 speaks 1');
    expect(planned).not.toContain('o3 speaks 0');
    const [judged] = askedOf(server, 'judge');
    expect(judged).toContain('o1 speaks 3');
    expect(judged).not.toContain('speaks 0');
    expect(judgement.transcript.slice(0, 5).map(({ role: who }) => who)).toEqual([
      'proponent 1, within the team',
      'proponent 2, within the team',
      'opponent 1, within the team',
      'opponent 2, within the team',
      'opponent 3, within the team',
    ]);
    expect(judgement.transcript).toHaveLength(4 * 5 + 1);
  });

  it('leaves discussions out, or holds longer ones', async () => {
    const without = await setUp({ rounds: 0, discussionTurns: 0 });
    await without.detector.judge(prefix(1));
    expect(without.server.requests).toHaveLength(5 + 1);
    const longer = await setUp({ rounds: 0, discussionTurns: 2 });
    await longer.detector.judge(prefix(1));
    expect(longer.server.requests).toHaveLength(2 * 5 + 5 + 1);
  });

  it('judges categories and four labels', async () => {
    const judge: Part = (body) =>
      verdict(/Does this hold.*(a study|claim)\?/.test(body.messages[0].content) ? 'yes' : 'no');
    const categories = await setUp({ rounds: 0, task: categoryTask, judge });
    expect((await categories.detector.judge(prefix(1))).label).toBe('claim + reference + entities');
    expect(categories.server.requests).toHaveLength(3 * 11);
    const four = await setUp({ rounds: 0, task: fourWayTask, judge: verdict('true') });
    expect((await four.detector.judge(prefix(1))).label).toBe('true');
    expect(four.server.requests).toHaveLength(2 * (2 + 3 * 3) + 1);
  });
});
