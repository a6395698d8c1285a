import { describe, expect, it } from 'vitest';
import { markdownOf } from '../../../../experiments/report/document.ts';
import { agentName } from '../../../../experiments/stop-agent/decisions.ts';
import { compareToFront, summarize } from '../../../../experiments/stop-agent/report/aggregate.ts';
import { answerOf } from '../../../../experiments/stop-agent/report/answer.ts';
import { stopAgentDocument } from '../../../../experiments/stop-agent/report/stop-agent-report.ts';
import { systemsTable } from '../../../../experiments/stop-agent/report/systems-table.ts';
import type { TrialResult } from '../../../../experiments/stop-agent/result.ts';
import { decidedSystem as system, decidedTrial as trial } from './decided-trial.ts';

function render(...results: { variant: string; trials: TrialResult[] }[]): string {
  const about = { name: 'x', description: 'What it asks.', command: 'earshot train x.yaml' };
  return markdownOf(stopAgentDocument({ ...about, answer: answerOf(results) }));
}

const stopping = (share: number) => trial(1, { mostCommonStop: { name: 'post 1', share } });

describe('the verdict on a collapse', () => {
  it('stands from 90 % on, over the mean of the seeds, and not below', () => {
    const warning = 'it collapsed to a fixed rule (90 % stop at post 1)';
    expect(render({ variant: 'paper', trials: [stopping(0.9)] })).toContain(warning);
    expect(render({ variant: 'paper', trials: [stopping(1), stopping(0.8)] })).toContain(warning);
    expect(render({ variant: 'paper', trials: [stopping(0.899)] })).not.toContain('collapsed');
    expect(render({ variant: 'paper', trials: [stopping(1), stopping(0.79)] })).not.toContain('collapsed');
  });

  it('is for the agent that collapsed alone', () => {
    const report = render(
      { variant: 'paper', trials: [stopping(0.3)] },
      { variant: 'published', trials: [stopping(0.95)] },
    );
    expect(report.match(/collapsed/g)).toHaveLength(1);
    expect(report).toContain('published collapsed to a fixed rule (95 % stop at post 1)');
  });

  it('is not for rules, which are fixed', () => {
    const rules = [system('first post', { er: 0.1, mostCommonStop: { name: 'post 1', share: 1 } })];
    expect(render({ variant: 'paper', trials: [trial(1, {}, rules)] })).not.toContain('collapsed');
  });
});

describe('the report', () => {
  it('gives mean and deviation over seeds, and the baselines once', () => {
    const results = ['paper', 'published'].map((variant) => ({
      variant,
      trials: [trial(1, { macroF1: 0.7, er: 0.2 }), trial(2, { macroF1: 0.8, er: 0.4 })],
    }));
    const report = render(...results);
    expect(report).toMatch(
      /^# x\n\nReading 30 % of the posts with .*\n\n\*\*Verdict:\*\* [\s\S]*## What was run\n\nWhat it asks\.\n\nCommand: `earshot train x\.yaml`\n\nThreads: test 10\. Seeds: 1, 2\./,
    );
    expect(report).toMatch(/\| \*\*stop agent: paper\*\* +\| 0\.750 ± 0\.071 \| 0\.300 ± 0\.141 \|/);
    // In the answer, and among all systems.
    expect(report.match(/^\| all posts /gm)).toHaveLength(2);
    expect(report).toContain('Rules are those of the\nsplits of the variant paper; of 1 rules 1 are shown');
    expect(report).toMatch(/\| paper +\| +3\.0 \| +2\.0 \| +1\.0 \| +33 % \|/);
  });

  it('leaves the deviation of one seed and unknown hours out', () => {
    const report = render({ variant: 'agent', trials: [trial(1, { delayHours: null })] });
    expect(report).toMatch(/\| \*\*stop agent\*\* +\| +0\.500 \| 0\.500 \| +3\.0 \| +– \|/);
  });
});

describe('sampled stops', () => {
  const sampledAt = (macroF1: number) => ({ ...trial(1, {}), sampled: { macroF1, er: 0.25, callsPerThread: 1 } });

  it('stand over the seeds beside those of the agent', () => {
    const report = render({ variant: 'paper', trials: [sampledAt(0.6), sampledAt(0.8)] });
    expect(report).toMatch(/## If stops were sampled\n\n.*\n.*\n\| paper +\| 0\.700 ± 0\.141 \| 0\.250 ± 0\.000 \|/);
  });

  it('are left out where no run kept its probabilities', () => {
    expect(render({ variant: 'paper', trials: [{ ...trial(1, {}), sampled: null }] })).not.toContain('sampled');
  });
});

describe('aggregation', () => {
  it('summarizes each system over the seeds that have it', () => {
    const cloning = system('behaviour cloning');
    const summary = summarize([trial(1, { macroF1: 0.6 }, [cloning]), trial(2, { macroF1: 0.8 }, [])]);
    expect(summary).toMatchObject([
      { name: agentName, values: { macroF1: { mean: expect.closeTo(0.7, 10), deviation: expect.any(Number) } } },
      { name: 'behaviour cloning', values: { macroF1: { mean: 0.5, deviation: null } } },
    ]);
  });

  it('holds the agent against rules that may call as often, and against no system that was learnt or sees labels', () => {
    const rules = [
      system('first post', { er: 0.1, macroF1: 0.5 }),
      system('all posts', { er: 1, macroF1: 0.9 }),
      system('confidence ≥ 0.8', { er: 0.2, macroF1: 0.8, calls: 'schedule', callsPerThread: 3 }),
      system('confidence ≥ 0.9', { er: 0.1, macroF1: 0.8, calls: 'every', callsPerThread: 9 }),
      system('behaviour cloning', { er: 0.1, macroF1: 1 }),
      system('label-aware bound', { er: 0.1, macroF1: 1, calls: 'oracle' }),
    ];
    const agent = { er: 0.55, macroF1: 0.8, callsPerThread: 3 };
    const front = compareToFront([trial(1, agent, rules)]);
    expect(front.overBestRule?.mean).toBeCloseTo(0.3, 10);
    expect(front.overOneCall?.mean).toBeCloseTo(0.8 - 0.7, 10);
    // Without the rule of nine calls: 9/16 of the confidence rule at 0.2 and 7/16 of all posts, at less than three calls.
    const withoutNine = compareToFront([
      trial(
        1,
        agent,
        rules.filter(({ calls }) => calls !== 'every'),
      ),
    ]);
    expect(withoutNine.overEqualCalls?.mean).toBeCloseTo(0.8 - (0.8 + (0.35 / 0.8) * 0.1), 10);
    // A little of it may be mixed in, and as much as one likes where calls are free.
    expect(front.overEqualCalls?.mean).toBeLessThan(withoutNine.overEqualCalls?.mean ?? 0);
    expect(front.overAnyCalls?.mean).toBeLessThan(front.overEqualCalls?.mean ?? 0);
    for (const margin of Object.values(front)) {
      expect(margin?.interval?.low).toBeLessThanOrEqual(margin?.mean ?? 0);
      expect(margin?.interval?.high).toBeGreaterThanOrEqual(margin?.mean ?? 0);
    }
  });

  it('has an interval of the width of what so few threads may not show, and none below ten', () => {
    const all = [system('all posts', { er: 0.5, macroF1: 1 })];
    const right = trial(1, { er: 0.5, macroF1: 1 }, all);
    const unseen = 1 - 0.025 ** (1 / 20);
    const margin = compareToFront([right]).overEqualCalls;
    expect(margin?.interval?.low).toBeCloseTo(-unseen, 12);
    expect(margin?.interval?.high).toBeCloseTo(unseen, 12);
    const few = {
      ...right,
      decisions: right.decisions.map((own) => ({ ...own, decisions: own.decisions.slice(0, 9) })),
    };
    expect(compareToFront([few]).overEqualCalls).toMatchObject({ mean: 0, interval: null });
    const verdictOf = (test: number) =>
      answerOf([{ variant: 'agent', trials: [{ ...few, threads: { ...right.threads, test } }] }]).verdict;
    expect(verdictOf(9)).toBe('9 test threads are too few for intervals and a verdict; give at least 10, better 100.');
  });

  it('has no margin where no rule is as early', () => {
    const trials = [trial(1, { er: 0.05, macroF1: 0.5 })];
    expect(compareToFront(trials)).toEqual({
      overBestRule: null,
      overOneCall: null,
      overEqualCalls: null,
      overAnyCalls: null,
    });
    expect(render({ variant: 'agent', trials })).toMatch(/\| agent +\| 0\.050 \| +1\.000( \| +–){4} \|/);
  });

  it('shows a few rules of a dense grid, and compares with all', () => {
    const rules = [4, 5].map((count) => system(`first ${count} posts`, { er: count / 10 }));
    const report = render({ variant: 'agent', trials: [trial(1, {}, rules)] });
    expect(report).toContain('| first 4 posts');
    expect(report).not.toContain('| first 5 posts');
    expect(report).toContain('of 2 rules 1 are shown, and all are compared with');
  });

  it('shows one evaluation with its intervals', () => {
    const table = systemsTable([
      system('all posts', { delayHours: null }),
      system('label-aware bound', { calls: 'oracle' }),
    ]);
    expect(table).toMatch(/\| all posts +\| 0\.500 \[0\.400, 0\.600\] \| +0\.400 \| +0\.600 \|/);
    expect(table).toMatch(/\| label-aware bound .*\| +– \| post 4 \(20 %\) +\|$/);
  });
});
