import { describe, expect, it } from 'vitest';
import {
  answerAction,
  askAction,
  ENDS,
  NOT_ALLOWED,
  queryEpisode,
  queryMdp,
  queryRewards,
  queryValues,
  queryVisits,
  WAIT,
} from '../../envs/query-env.ts';

/** Two steps; the second detector can be asked at the second only. */
const mdp = queryMdp([
  [true, false],
  [true, true],
]);
const rewards = queryRewards(mdp, {
  worth: [
    [0.6, Number.NaN],
    [0.7, 1],
  ],
  delay: [0.1, 0.2],
  cost: [
    [0.01, Number.NaN],
    [0.02, 0.3],
  ],
});
const named = new Map(
  Array.from(mdp.step, (step, state) => [`${step}: ${mdp.askedAt.subarray(2 * state, 2 * state + 2)}`, state]),
);
const at = (name: string) => named.get(name) ?? -1;
const pair = (name: string, action: number) => at(name) * mdp.actions + action;
const askFirst = askAction(0);
const askSecond = askAction(1);
const answerFirst = answerAction(0, 2);
const answerSecond = answerAction(1, 2);

describe('the MDP of an agent with several detectors', () => {
  it('has a state for each step and the steps that each detector was last asked at', () => {
    expect([...named.keys()]).toEqual([
      '0: -1,-1',
      '0: 0,-1',
      ...['-1', '0', '1'].flatMap((first) => ['-1', '1'].map((second) => `1: ${first},${second}`)),
    ]);
  });

  it('allows to ask each detector once a step, to answer with what was said, and to wait before the last step', () => {
    const follow = (name: string) => [...mdp.next.subarray(pair(name, 0), pair(name, mdp.actions))];
    expect(follow('0: -1,-1')).toEqual([at('1: -1,-1'), at('0: 0,-1'), NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED]);
    expect(follow('0: 0,-1')).toEqual([at('1: 0,-1'), NOT_ALLOWED, NOT_ALLOWED, ENDS, NOT_ALLOWED]);
    expect(follow('1: 0,-1')).toEqual([NOT_ALLOWED, at('1: 1,-1'), at('1: 0,1'), ENDS, NOT_ALLOWED]);
    expect(follow('1: 1,1')).toEqual([NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED, ENDS, ENDS]);
    expect(() => queryMdp([[true], [false]])).toThrow('at the last step');
  });

  it('pays for asking where it is asked, and for an answer by the judgement that it repeats', () => {
    expect(rewards[pair('0: -1,-1', askFirst)]).toBe(-0.01);
    expect(rewards[pair('1: 0,-1', askSecond)]).toBe(-0.3);
    // The judgement of the first step, a step later.
    expect(rewards[pair('1: 0,1', answerFirst)]).toBeCloseTo(0.6 - 0.2, 12);
    expect(rewards[pair('1: 0,1', answerSecond)]).toBeCloseTo(1 - 0.2, 12);
    expect(rewards[pair('0: -1,-1', WAIT)]).toBe(0);
  });

  it('values a policy as by hand', () => {
    // Asks the first; answers with one half, else waits and asks the second, whose judgement it gives.
    const policy = new Float64Array(mdp.next.length);
    policy[pair('0: -1,-1', askFirst)] = 1;
    policy[pair('0: 0,-1', answerFirst)] = 0.5;
    policy[pair('0: 0,-1', WAIT)] = 0.5;
    policy[pair('1: 0,-1', askSecond)] = 1;
    policy[pair('1: 0,1', answerSecond)] = 1;
    const { values, ofActions } = queryValues(mdp, { policy, rewards });
    expect(ofActions[pair('0: 0,-1', WAIT)]).toBeCloseTo(1 - 0.2 - 0.3, 12);
    expect(values[0]).toBeCloseTo(-0.01 + 0.5 * (0.6 - 0.1) + 0.5 * (1 - 0.2 - 0.3), 12);
    const visits = queryVisits(mdp, policy);
    expect(visits[at('1: 0,1')]).toBe(0.5);
    const summed = rewards.reduce((sum, own, index) => sum + own * policy[index] * visits[Math.floor(index / 5)], 0);
    expect(summed).toBeCloseTo(values[0], 12);
  });

  it('tells an episode by what was asked and whose judgement is the answer', () => {
    const plan = [askFirst, WAIT, askSecond, answerFirst];
    expect(queryEpisode(mdp, () => plan.shift() ?? WAIT)).toEqual({
      asks: [
        { step: 0, detector: 0 },
        { step: 1, detector: 1 },
      ],
      step: 1,
      detector: 0,
      judgedAt: 0,
    });
    expect(() => queryEpisode(mdp, () => answerSecond)).toThrow('not allowed');
  });
});
