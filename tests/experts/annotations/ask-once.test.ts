import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Known, onceAsker } from '../../../experts/annotations/ask-once.ts';

/** Processes with one place where answers are kept, and leases that all of them see. */
function processes(count: number) {
  const kept = new Map<string, Known<string>>();
  const leased = new Map<string, number>();
  const looks: string[][] = [];
  const find = (keys: readonly string[]) => {
    looks.push([...keys]);
    return new Map([...kept].filter(([key]) => keys.includes(key)));
  };
  const leasesOf = (own: number) => ({
    take: (keys: readonly string[]) => {
      for (const key of keys) if (!leased.has(key)) leased.set(key, own);
      return new Set(keys.filter((key) => leased.get(key) === own));
    },
    release: (keys: readonly string[]) => {
      for (const key of keys) if (leased.get(key) === own) leased.delete(key);
    },
  });
  const ending = new AbortController();
  const all = Array.from({ length: count }, (_, own) =>
    onceAsker<string>({ find, leases: leasesOf(own), signal: ending.signal }),
  );
  /** Stores an answer, which ends the lease. */
  const keep = (key: string, known: Known<string>) => {
    kept.set(key, known);
    leased.delete(key);
  };
  return { all, keep, leased, looks, ending };
}

describe('onceAsker', () => {
  it('gives all who ask, in any process, one answer', async () => {
    const { all, keep } = processes(2);
    let asked = 0;
    const ask = async () => {
      const answer = `answer ${++asked}`;
      await delay(15);
      keep('a', { answer });
      return answer;
    };
    const answers = await Promise.all([...all, ...all].map((each) => each('a', ask)));
    expect(answers).toEqual(Array(4).fill('answer 1'));
    expect(await all[1]('a', ask)).toBe('answer 1');
  });

  it('asks where the other process failed, unless the failure is kept', async () => {
    const { all, keep, leased } = processes(2);
    const fails = () => delay(15).then(() => Promise.reject(new Error('overloaded')));
    const [first, second] = await Promise.allSettled([all[0]('a', fails), all[1]('a', async () => 'an answer')]);
    expect([first.status, second]).toEqual(['rejected', { status: 'fulfilled', value: 'an answer' }]);
    leased.clear();
    const unreadable = async () => {
      await delay(15);
      keep('b', { failure: new Error('kept') });
      throw new Error('unreadable');
    };
    const both = await Promise.allSettled([all[0]('b', unreadable), all[1]('b', async () => 'never asked')]);
    expect(both.map((each) => each.status === 'rejected' && each.reason.message)).toEqual(['unreadable', 'kept']);
    expect(leased.size).toBe(0);
  });

  it('looks up what is asked in one turn together', async () => {
    const { all, looks } = processes(1);
    await Promise.all(['a', 'b', 'c'].map((key) => all[0](key, async () => key)));
    expect(looks).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  it('waits for nobody and asks nothing new once it has ended', async () => {
    const { all, ending, leased } = processes(1);
    leased.set('a', 7);
    const waiting = all[0]('a', async () => 'never');
    await delay(5);
    ending.abort(new Error('Ctrl-C'));
    await expect(waiting).rejects.toThrow('Ctrl-C');
    await expect(all[0]('b', async () => 'never')).rejects.toThrow('Ctrl-C');
  });
});
