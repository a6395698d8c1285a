import { describe, expect, it } from 'vitest';
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

const yes = verdict('rumor');
const no = verdict('non-rumor');

/** Each member's votes in turn, as y and n; x is no vote at all. */
async function council(
  votes: readonly string[],
  options: { task?: JudgingTask; chair?: Part; parts?: Record<string, Part> } & Record<string, unknown> = {},
) {
  const { task = rumorTask, chair = 'Look at the sources.', parts, ...more } = options;
  const names = votes.map((_, member) => `m${member + 1}`);
  const played = Object.fromEntries(
    votes.map((own, member) => [
      names[member],
      [...own].map((vote) => (vote === 'y' ? yes : vote === 'n' ? no : 'hm')),
    ]),
  );
  const server = await startRoles({ ...played, chair, ...parts });
  const models = { members: names.map((name) => role(server, name)), chairperson: role(server, 'chair') };
  const detector = await detectorOf({ config: { name: 'debate-council', models, ...more }, task });
  return { server, detector, names };
}

describe('debate-council', () => {
  it('ends at once on a consensus of the initial votes', async () => {
    const { server, detector, names } = await council(['y', 'y', 'y', 'y', 'n']);
    const judgement = await detector.judge(prefix(2));
    expect(judgement).toMatchObject({ label: 'rumor', probabilities: { rumor: 0.8, 'non-rumor': 0.2 } });
    expect(phasesOf(server, [5])).toEqual([names]);
    expect(judgement.explanation).toBe('rumor 4, non-rumor 1. because rumor');
  });

  it('goes on until a round brings the consensus, as in the log of the paper', async () => {
    const { server, detector, names } = await council(['yyy', 'yyy', 'yyy', 'nny', 'nnn']);
    const judgement = await detector.judge(prefix(2));
    expect(judgement.label).toBe('rumor');
    expect(phasesOf(server, [5, 1, 5, 1, 5])).toEqual([names, ['chair'], names, ['chair'], names]);
    expect(judgement.usage.requests).toBe(17);
    expect(askedOf(server, 'chair')[0]).toContain('Votes now: rumor 3, non-rumor 2');
    const [first, second] = askedOf(server, 'm1');
    expect(first).not.toContain('[chairperson]');
    expect(second.split('Look at the sources.')).toHaveLength(2);
    expect(second).toContain('[chairperson]\nLook at the sources.\n\nYou are member 1.');
    expect(judgement.transcript.map(({ role: who }) => who).slice(0, 7)).toEqual([
      ...[1, 2, 3, 4, 5].map((member) => `member ${member}`),
      'chairperson',
      'member 1',
    ]);
  });

  it('ends when the votes of two rounds are the same', async () => {
    // The initial votes, then a change, then twice the same.
    const { server, detector, names } = await council(['nyy', 'yyy', 'yyy', 'nnn', 'nnn']);
    expect((await detector.judge(prefix(2))).label).toBe('rumor');
    expect(phasesOf(server, [5, 1, 5, 1, 5])).toEqual([names, ['chair'], names, ['chair'], names]);
  });

  it('takes each member for itself: equal counts of others are not stable', async () => {
    const { server, detector } = await council(['ynyny', 'nynyy', 'yyyyy', 'nnnnn', 'yyyyy']);
    expect((await detector.judge(prefix(2))).label).toBe('rumor');
    expect(server.requests).toHaveLength(5 + 4 * 6);
  });

  it('ends after five rounds with the majority', async () => {
    const { server, detector } = await council(['ynynyn', 'nynyny', 'yyyyyy', 'nnnnnn', 'nnnnnn']);
    expect((await detector.judge(prefix(2))).label).toBe('non-rumor');
    expect(server.requests).toHaveLength(5 + 5 * 6);
  });

  it('lets the chairperson decide a tie', async () => {
    const chair: Part = (body) => (body.messages[0].content.includes('are tied') ? no : 'Go on.');
    const { server, detector } = await council(['y', 'n'], { chair });
    const judgement = await detector.judge(prefix(2));
    expect(judgement).toMatchObject({ label: 'non-rumor', probabilities: { rumor: 0.5, 'non-rumor': 0.5 } });
    expect(server.requests).toHaveLength(2 + 2 * 3 + 1);
    expect(server.requests.at(-1)?.body.model).toBe('chair');
  });

  it('lets a tie be decided between the sides that lead, not for one that nobody voted for', async () => {
    const asksToDecide = (body: { messages: readonly { content: string }[] }) =>
      body.messages[0].content.includes('are tied');
    const chair: Part = (body, turn) =>
      asksToDecide(body) ? verdict(turn === 0 ? 'true' : 'false') : 'Nobody is asked to sum up.';
    const { server, detector } = await council(['', ''], {
      task: fourWayTask,
      chair,
      rounds: 0,
      parts: { m1: verdict('false'), m2: verdict('unverified') },
    });
    // The first decision is for a side that is not in the tie, so that it has to be repaired.
    expect((await detector.judge(prefix(1))).label).toBe('false');
    const [decision] = askedOf(server, 'chair');
    expect(decision).toContain('- false: it is false');
    expect(decision).not.toContain('- true: it is true');
    expect(server.requests).toHaveLength(2 + 2);
  });

  it('counts an unreadable vote as an abstention that hinders a consensus', async () => {
    const { server, detector } = await council(['y', 'y', 'y', 'x', 'n'], { rounds: 1 });
    const judgement = await detector.judge(prefix(1));
    expect(judgement).toMatchObject({
      label: 'rumor',
      probabilities: { rumor: 0.75, 'non-rumor': 0.25 },
      unreadableParts: 2,
    });
    // The unreadable one is asked to repair its vote each time.
    expect(server.requests).toHaveLength(6 + 1 + 6);
    expect(judgement.usage.requests).toBe(13);
  });

  it('fails where nobody votes', async () => {
    const { detector } = await council(['x', 'x'], { rounds: 0 });
    const judged = detector.judge(prefix(1));
    await expect(judged).rejects.toThrow(ProviderError);
    await expect(judged).rejects.toThrow(/none of the 2 members.*the last one: .*neither it nor its last line/s);
  });

  it('judges categories and four labels', async () => {
    const vote: Part = (body) =>
      verdict(/Does this hold.*(a study|claim)\?/.test(body.messages[0].content) ? 'yes' : 'no');
    const categories = await council(['', ''], { task: categoryTask, parts: { m1: vote, m2: vote } });
    const judgement = await categories.detector.judge(prefix(1));
    expect(judgement.label).toBe('claim + reference + entities');
    expect(judgement.probabilities?.['claim + reference + entities']).toBe(1);
    expect(categories.server.requests).toHaveLength(3 * 2);
    const four = await council(['', ''], { task: fourWayTask, parts: { m1: verdict('false'), m2: verdict('false') } });
    expect((await four.detector.judge(prefix(1))).label).toBe('false');
  });
});
