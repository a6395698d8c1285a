import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AlertDecisions,
  alertRates,
  alertSpeed,
  eRiskP,
  erde,
  latencyPenalty,
  latencyWeightedF1,
  medianAlertDelay,
  medianP,
} from '../../../src/metrics/early-alerts.ts';

/** A true alert after 5 posts, a false one, a missed positive, a quiet negative, a true alert after 1 post. */
const decisions: AlertDecisions = {
  alerted: [true, true, false, false, true],
  positive: [true, false, true, false, true],
  postsUsed: [5, 2, 9, 7, 1],
  threadPosts: [11, 11, 9, 7, 21],
  hours: [2, 1, null, 3, 0],
};

describe('by hand', () => {
  it('ERDE: costs of false, missed and late alerts', () => {
    const early = 1 - 1 / (1 + Math.exp(1 - 5));
    // c_fp is the share of positives, 3 of 5. At k = o the latency costs one half.
    expect(erde(decisions, { deadline: 5 })).toBeCloseTo((0.5 + 0.6 + 1 + 0 + early) / 5, 14);
    expect(erde({ ...decisions, items: Int32Array.of(0, 0, 3) }, { deadline: 5 })).toBeCloseTo(1 / 3, 14);
  });

  it('ERDE by hours, unknown where a true alert has no time', () => {
    const first = 1 - 1 / (1 + Math.exp(0 - 2));
    expect(erde(decisions, { deadline: 2, unit: 'hours' })).toBeCloseTo((0.5 + 0.6 + 1 + first) / 5, 14);
    const unknown = { ...decisions, hours: [null, 1, 2, 3, 0] };
    expect(erde(unknown, { deadline: 2, unit: 'hours' })).toBeNull();
  });

  it('ERDE of alerts that come hundreds of posts late is a number', () => {
    const late = { alerted: [true], positive: [true], postsUsed: [5000], threadPosts: [5000], hours: [null] };
    expect(erde(late, { deadline: 5 })).toBe(1);
  });

  it('rates of alerts', () => {
    expect(alertRates(decisions)).toEqual({ precision: 2 / 3, recall: 2 / 3, f1: 2 / 3, perThousandThreads: 600 });
    const quiet = { ...decisions, alerted: decisions.alerted.map(() => false) };
    expect(alertRates(quiet)).toEqual({ precision: 0, recall: 0, f1: 0, perThousandThreads: 0 });
  });

  it('F_latency: the penalty is one half at the median number of posts', () => {
    expect(medianP(decisions)).toBeCloseTo(Math.log(3) / 10, 14);
    expect(latencyPenalty(11, medianP(decisions))).toBeCloseTo(0.5, 14);
    expect(latencyPenalty(1, eRiskP)).toBe(0);
    expect(latencyPenalty(142, eRiskP)).toBeCloseTo(0.5, 3);
    // True alerts after 5 posts and 1 post: the median is half of the first penalty.
    const speed = 1 - latencyPenalty(5, medianP(decisions)) / 2;
    expect(alertSpeed(decisions)).toBeCloseTo(speed, 14);
    expect(latencyWeightedF1(decisions)).toBeCloseTo((2 / 3) * speed, 14);
    expect(latencyWeightedF1(decisions, eRiskP)).toBeGreaterThan(latencyWeightedF1(decisions));
    expect(medianP({ threadPosts: [1, 1, 9] })).toBe(Math.log(3));
  });

  it('delay of true alerts', () => {
    expect(medianAlertDelay(decisions)).toEqual({ posts: 2, hours: 1 });
    const missed = { ...decisions, positive: decisions.alerted.map((alerted) => !alerted) };
    expect(medianAlertDelay(missed)).toEqual({ posts: null, hours: null });
    expect(alertSpeed(missed)).toBeNull();
    expect(latencyWeightedF1(missed)).toBe(0);
  });

  it('refuses no threads', () => {
    const none = { alerted: [], positive: [], postsUsed: [], threadPosts: [], hours: [] };
    expect(() => erde(none, { deadline: 5 })).toThrow('there are no threads to measure alerts on');
  });
});

const anyDecisions = fc
  .array(
    fc.record({
      alerted: fc.boolean(),
      positive: fc.boolean(),
      used: fc.integer({ min: 1, max: 300 }),
      further: fc.integer({ min: 0, max: 300 }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map(
    (rows): AlertDecisions => ({
      alerted: rows.map(({ alerted }) => alerted),
      positive: rows.map(({ positive }) => positive),
      postsUsed: rows.map(({ used }) => used),
      threadPosts: rows.map(({ used, further }) => used + further),
      hours: rows.map(({ used }) => used / 10),
    }),
  );

describe('whatever was decided', () => {
  it('ERDE lies between 0 and 1, and a later deadline never makes it worse', () => {
    fc.assert(
      fc.property(anyDecisions, (own) => {
        const [tight, loose] = [5, 50].map((deadline) => erde(own, { deadline }) ?? Number.NaN);
        expect(tight).toBeGreaterThanOrEqual(loose);
        expect(loose).toBeGreaterThanOrEqual(0);
        expect(tight).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('an earlier alert is never worse', () => {
    fc.assert(
      fc.property(anyDecisions, (own) => {
        const earlier = { ...own, postsUsed: own.postsUsed.map((used) => Math.ceil(used / 2)) };
        expect(erde(earlier, { deadline: 50 })).toBeLessThanOrEqual(erde(own, { deadline: 50 }) ?? Number.NaN);
        expect(latencyWeightedF1(earlier)).toBeGreaterThanOrEqual(latencyWeightedF1(own));
        expect(latencyWeightedF1(own)).toBeLessThanOrEqual(alertRates(own).f1);
      }),
    );
  });

  it('repeating every thread changes nothing', () => {
    fc.assert(
      fc.property(anyDecisions, (own) => {
        const items = Int32Array.from([...own.alerted.keys(), ...own.alerted.keys()]);
        expect(erde({ ...own, items }, { deadline: 5 })).toBeCloseTo(erde(own, { deadline: 5 }) ?? Number.NaN, 12);
        expect(latencyWeightedF1({ ...own, items })).toBeCloseTo(latencyWeightedF1(own), 12);
        expect(medianAlertDelay({ ...own, items })).toEqual(medianAlertDelay(own));
      }),
    );
  });
});
