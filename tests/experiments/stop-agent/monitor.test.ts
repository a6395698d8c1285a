import { describe, expect, it } from 'vitest';
import type { Audit, Audited } from '../../../checkpoints/policy/audit.ts';
import { adapted, recalibrated } from '../../../experiments/stop-agent/adapt.ts';
import { countedAudits, monitored } from '../../../experiments/stop-agent/monitor.ts';
import { eProcess } from '../../../src/metrics/e-process.ts';
import { Random } from '../../../src/tensor/random.ts';
import { limits, smallGuarantee } from '../../checkpoints/policy/small-bundle.ts';

const hour = 3_600_000;
const guarantee = smallGuarantee(0.8);
const watched = { policy: 'p', guarantee, quietMs: 24 * hour, now: new Date(1000 * hour), alarmLevel: 0.05 };

function audit(index: number, changes: boolean, more: Partial<Audit> = {}): Audit {
  const outcome: Audited = {
    closed: '',
    posts: 4,
    postsUsed: 2,
    atStop: 'rumor',
    atEnd: changes ? 'non-rumor' : 'rumor',
    queries: 2,
    path: null,
  };
  const opened = new Date(index * hour).toISOString();
  const facts = { policy: 'p', threshold: 0.8, probability: 0.1, isOutOfDistribution: false };
  return { threadId: `t${index}`, opened, ...facts, outcome, ...more };
}
const stream = (count: number, changes: (index: number) => boolean) =>
  Array.from({ length: count }, (_, index) => audit(index, changes(index)));

describe('a monitor', () => {
  it('raises an alarm at the first audit whose e-value reaches 1 / level, and keeps it', () => {
    const audits = [...stream(100, (index) => index % 4 === 0), ...stream(0, () => false)];
    const { alarm, now, history } = monitored(audits, watched);
    const evidence = eProcess(0.05);
    for (let index = 0; index < (alarm?.items ?? 0) - 1; index++) evidence.add(index % 4 === 0);
    expect(alarm?.eValue).toBeGreaterThanOrEqual(20);
    expect(evidence.value()).toBeLessThan(20);
    expect(now).toMatchObject({ items: 100, losses: 25 });
    expect(history.at(-1)).toEqual(now);
    expect(
      monitored(
        stream(400, (index) => index % 25 === 0),
        watched,
      ),
    ).toMatchObject({ alarm: null, missing: 0 });
  });

  it('counts up to the first open thread, leaves out those without an end, and those of others', () => {
    const audits = [
      audit(1, false),
      audit(2, false, { outcome: null }),
      audit(3, true),
      audit(4, false, { outcome: { closed: '', missing: 'gone' } }),
      audit(5, true, { policy: 'q' }),
      audit(6, true, { threshold: 0.7 }),
      audit(990, true),
      audit(991, false, { outcome: null }),
      audit(992, true),
    ];
    const found = monitored(audits, watched);
    expect(found.now).toMatchObject({ items: 3, losses: 2 });
    expect(found).toMatchObject({ waiting: 2, missing: 2, others: 2 });
    const later = countedAudits(audits, { ...watched, guarantee: { ...guarantee, since: audits[2].opened } });
    expect(later.counted.map(({ threadId }) => threadId)).toEqual(['t990']);
  });

  it('leaves out audits of threads that the guarantee was found on', () => {
    const audits = stream(10, () => true).map((own, index) => ({ ...own, isCalibration: index < 4 }));
    expect(monitored(audits, watched)).toMatchObject({ now: { items: 6, losses: 6 }, calibration: 4, others: 0 });
  });

  it('says nothing before the first audit, and notices claims that are out of distribution', () => {
    expect(monitored([], watched)).toMatchObject({ now: { items: 0, low: 0, high: 1, eValue: 1 }, alarm: null });
    const unlike = stream(60, () => false).map((own, index) => ({ ...own, isOutOfDistribution: index % 2 === 0 }));
    expect(monitored(unlike, watched)).toMatchObject({ alarm: null, unlike: { isAlarm: true, now: { losses: 30 } } });
  });
});

describe('a guarantee about withdrawn alerts', () => {
  const about = { ...watched, alerts: ['rumor'], guarantee: { ...guarantee, loss: 'withdrawn' as const } };
  const ended =
    (atStop: string, atEnd: string, postsUsed = 2) =>
    (index: number) =>
      audit(index, false, { outcome: { closed: '', posts: 4, postsUsed, atStop, atEnd, queries: 2, path: null } });
  const audits = [
    ended('rumor', 'rumor'),
    ended('rumor', 'non-rumor'),
    ended('non-rumor', 'rumor'),
    ended('rumor', 'non-rumor', 4),
    ended('rumor', 'rumor'),
  ].map((own, index) => own(index));

  it('counts the audits that raised an alert before their end', () => {
    expect(monitored(audits, about)).toMatchObject({ now: { items: 3, losses: 1 }, withoutAlert: 2, others: 0 });
    expect(monitored(audits, watched)).toMatchObject({ now: { items: 5, losses: 2 }, withoutAlert: 0 });
  });

  it('raises an alarm by them, however many threads raise none', () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      index % 3 === 0
        ? ended('rumor', index % 9 === 0 ? 'non-rumor' : 'rumor')(index)
        : ended('non-rumor', 'non-rumor')(index),
    );
    expect(monitored(many, about).alarm).not.toBeNull();
    const calm = many.map(({ outcome, ...own }) => ({ ...own, outcome: outcome && { ...outcome, atEnd: 'rumor' } }));
    expect(monitored(calm, about)).toMatchObject({ alarm: null, now: { items: 100, losses: 0 } });
  });

  it('moves its threshold by them alone', () => {
    const { ended: all, counted } = countedAudits(audits, about);
    const moved = adapted({ ...guarantee, loss: 'withdrawn' }, all, about);
    expect(moved.adapted).toMatchObject({ audits: 3, losses: 1 });
    const twice = adapted({ ...guarantee, loss: 'withdrawn' }, counted, about);
    expect(moved.threshold).toBe(twice.threshold);
    expect(moved.er).toBe(0.6);
  });
});

describe('a threshold that follows the audits', () => {
  it('comes to where the wanted share changes, from either side, with a tenth of the threads', () => {
    // A prediction changes with probability (1 − threshold), so 0.95 is right.
    for (const start of [0.5, 0.9999]) {
      const random = Random.seeded({ seed: 3, purpose: 'adapt' });
      let now = smallGuarantee(start);
      for (let index = 0; index < 4000; index++) {
        const { counted } = countedAudits([audit(index, random.uniform() < 1 - now.threshold)], {
          ...watched,
          guarantee: { ...now, adapted: now.adapted ?? { audits: 0, losses: 0, history: [] } },
        });
        now = adapted(now, counted, watched);
      }
      expect(now.adapted).toMatchObject({ audits: 4000, history: { length: 1000 } });
      expect(Math.abs((now.adapted?.losses ?? 0) / 4000 - 0.05)).toBeLessThan(0.01);
      expect(now).toMatchObject({ level: 0.05, er: 0.5, since: new Date(3999 * hour).toISOString() });
    }
  });
});

describe('another calibration on audits', () => {
  const path = [
    { score: 0.6, hours: null, label: 'non-rumor' },
    { score: 0.9, hours: null, label: 'rumor' },
    { score: 0.9, hours: null, label: 'rumor' },
    { score: 0.95, hours: null, label: 'rumor' },
  ];
  const audits = Array.from({ length: 60 }, (_, index) => audit(index, false)).map((own) => ({
    ...own,
    outcome: { closed: '', posts: 4, postsUsed: 2, atStop: 'rumor', atEnd: 'rumor', queries: 2, path },
  }));

  it('finds the earliest threshold that keeps the guarantee on their threads', () => {
    const again = recalibrated(guarantee, audits, { limits });
    expect(again).toMatchObject({ threads: 60, losses: 0, er: 0.5, adapted: null, since: audits[59].opened });
    expect(again.threshold).toBeGreaterThan(0.6);
    expect(again.threshold).toBeLessThan(0.9);
  });

  it('refuses too few audits, and those without what another threshold would have seen', () => {
    expect(() => recalibrated(guarantee, audits.slice(0, 20), { limits })).toThrow('that takes 45');
    const short = audits.map((own) => ({ ...own, outcome: { ...own.outcome, path: null } }));
    expect(() => recalibrated(guarantee, short, { limits })).toThrow('give whole threads to `earshot calibrate`');
  });
});
