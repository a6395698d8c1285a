import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RunDirectory } from '../../../../checkpoints/run-directory.ts';
import { markdownOf, screenOf, screenText } from '../../../../experiments/report/report.ts';
import { tableText } from '../../../../experiments/report/table.ts';
import { agentName } from '../../../../experiments/stop-agent/decisions.ts';
import { experimentSchema } from '../../../../experiments/stop-agent/experiment.ts';
import { summarize } from '../../../../experiments/stop-agent/report/agents.ts';
import { compareToRules } from '../../../../experiments/stop-agent/report/rule-margins.ts';
import { reportOf } from '../../../../experiments/stop-agent/report/stop-agent-report.ts';
import { evaluationTable } from '../../../../experiments/stop-agent/report/systems-table.ts';
import type { TrialResult } from '../../../../experiments/stop-agent/result.ts';
import { temporaryFolder } from '../../../src/data/fixtures.ts';
import { decidedSystem as system, decidedTrial as trial } from './decided-trial.ts';

/** A directory that records what made it. */
function recorded(): string {
  const directory = join(temporaryFolder(), 'run');
  RunDirectory.create(directory, { config: {}, facts: { seed: 1, backend: 'wasm', device: 'processor', hashes: {} } });
  return directory;
}

type Variant = { variant: string; trials: TrialResult[] };
const report = (...results: Variant[]) =>
  reportOf(
    {
      ...{ name: 'x', description: 'What it asks.', command: 'earshot train x.yaml', cache: 'cache' },
      variants: results.map(({ variant }) => ({ variant, directories: [recorded()] })),
    },
    results,
  );
const markdown = (...results: Variant[]) => markdownOf(report(...results));
const screen = (results: Variant[], width = 100) => screenText(screenOf(report(...results)), { width });
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ');
const widest = (text: string) => Math.max(...text.split('\n').map((line) => [...line].length));

describe('a collapse', () => {
  const stopping = (share: number) => trial(1, { mostCommonStop: { name: 'post 1', share } });

  it('is one from 90% on, over the mean of the seeds, and not below', () => {
    const warning = 'the agent collapsed to a fixed rule (90% stop at post 1)';
    expect(markdown({ variant: 'agent', trials: [stopping(0.9)] })).toContain(warning);
    expect(markdown({ variant: 'agent', trials: [stopping(1), stopping(0.8)] })).toContain(warning);
    expect(markdown({ variant: 'agent', trials: [stopping(0.899)] })).not.toContain('collapsed');
    expect(markdown({ variant: 'agent', trials: [stopping(1), stopping(0.79)] })).not.toContain('collapsed');
  });

  it('is that of the agent that collapsed alone, and not of rules, which are fixed', () => {
    const rules = [system('first post', { er: 0.1, mostCommonStop: { name: 'post 1', share: 1 } })];
    const both = markdown(
      { variant: 'paper', trials: [trial(1, {}, rules)] },
      { variant: 'published', trials: [stopping(0.95)] },
    );
    expect(both.match(/collapsed/g)).toHaveLength(1);
    expect(both).toContain('published collapsed to a fixed rule (95% stop at post 1)');
  });
});

describe('the report', () => {
  const rules = [
    system('first 4 posts', { macroF1: 0.6, er: 0.3 }),
    system('first 8 posts', { macroF1: 0.7, er: 0.6 }),
    system('confidence ≥ 0.7, asked at 1, 2, 3, 5, 8, …', {
      ...{ macroF1: 0.8, er: 0.4, queriesPerThread: 3 },
      queries: 'schedule',
    }),
    system('all posts', { macroF1: 0.8, er: 1 }),
  ];
  const beside = (agent: Parameters<typeof trial>[1]) => trial(1, agent, rules);

  it('opens with what is recommended, chosen on the development part; then table, notes, next', () => {
    const best = beside({ macroF1: 1, er: 0.3 });
    const lucky = beside({ macroF1: 1, er: 0.2 });
    const onDevelopment = {
      ...lucky.ranking,
      agent: system(agentName, { macroF1: 0.5, er: 0.3 }),
      decisions: lucky.ranking.decisions.filter(({ name }) => name !== agentName),
    };
    const results = [
      { variant: 'lucky', trials: [{ ...lucky, ranking: onDevelopment }] },
      { variant: 'best', trials: [best] },
    ];
    const text = oneLine(screen(results));
    expect(text).toMatch(
      /^x: best is recommended: on 10 test threads, it reads 30% of the posts with 1\.0 queries per thread, 1\.0 hours after the first post on average, and reaches a macro-F1 of 1\.000, 125% of that of reading everything, \+0\.\d+ \[\+.*\] above the best rules with the same earliness and queries\. /,
    );
    expect(text).toContain('by macro-F1 − 0.2 × earliness on the test part, because there is no development part');
    expect(screen(results).indexOf('\nbest ')).toBeLessThan(screen(results).indexOf('\nlucky '));
    expect(text).toContain('Thresholds: 0.500 of best; 0.500 of lucky.');
    const all = markdown(...results);
    const places = ['**best is', '| system', 'It was chosen by', 'Next:', '## What was run', '## Every system'];
    expect(places.map((part) => all.indexOf(part))).toEqual(
      places.map((part) => all.indexOf(part)).toSorted((a, b) => a - b),
    );
  });

  it('puts under each agent the best rule that reads and queries no more', () => {
    const aware = beside({ macroF1: 0.9, er: 0.5, queriesPerThread: 4 });
    const once = beside({ macroF1: 0.6, er: 0.5 });
    const results = [
      { variant: 'detector-in-state', trials: [aware] },
      { variant: 'once', trials: [once] },
    ];
    const names = screen(results)
      .split('\n')
      .map((line) => line.replace(/ {2,}[\d.]+ {2}.*/, ''));
    const first = names.indexOf('detector-in-state');
    expect(names.slice(first, first + 6)).toEqual([
      'detector-in-state',
      expect.stringMatching(/^ {2}confidence ≥ 0\.7, asked at 1/),
      expect.stringMatching(/^ {2}[\d, ]*…$/),
      'once',
      '  first 4 posts',
      'all posts',
    ]);
    expect(widest(screen(results, 79))).toBeLessThanOrEqual(79);
  });

  it('has a recommended rule and ten agents in the first table, and every agent in the second', () => {
    const agents = Array.from({ length: 12 }, (_, index) => ({
      variant: `agent-${index + 1}`,
      trials: [beside({ macroF1: 0.6, er: 0.99 })],
    }));
    const text = markdown(...agents);
    const { recommended } = report(...agents);
    const first = text.slice(0, text.indexOf('Earliness is'));
    expect(first.match(/^\| \*\*agent-/gm)).toHaveLength(10);
    expect(first).toContain(`| **${recommended?.system}** `);
    expect(text).toContain('The table has the first 10 of 12 agents; “Every system” in the report has all.');
    expect(text.slice(text.indexOf('## Every system')).match(/^\| \*\*stop agent: agent-/gm)).toHaveLength(12);
  });

  it('goes on with what is worth most, a rule as well as an agent', () => {
    const seeds = [0.6, 0.9, 0.7].map((macroF1, index) => trial(index + 1, { macroF1, er: 0.4 }, rules));
    const stuck = trial(1, { macroF1: 1, er: 0.1, mostCommonStop: { name: 'post 1', share: 0.97 } }, rules);
    const results = [
      { variant: 'stuck', trials: [stuck] },
      { variant: 'good', trials: seeds },
    ];
    const { recommended, next } = report(...results);
    expect(recommended).toMatchObject({ variant: 'good', run: 'runs/x/seed-2' });
    expect(next).toEqual([
      "npx earshot decide 'my threads.jsonl' --policy runs/policy --include-trained # or new threads",
      'npx earshot serve runs/policy',
    ]);
    const madeUp = results.map(({ variant, trials }) => ({
      variant,
      trials: trials.map((own) => ({
        ...own,
        experiment: experimentSchema.parse({ ...own.experiment, data: {} }),
      })),
    }));
    expect(report(...madeUp).next).toEqual([
      'npx earshot data synth --threads 20 --seed 2 --out made-up.jsonl',
      'npx earshot decide made-up.jsonl --policy runs/policy',
      'npx earshot serve runs/policy',
      'npx earshot init # the same with your own threads',
    ]);
  });

  it('warns where threads are out of distribution, and where they are few', () => {
    const at = (unlikeTraining: number) =>
      oneLine(screen([{ variant: 'once', trials: [{ ...beside({ er: 0.5 }), unlikeTraining }] }]));
    expect(at(0.62)).toContain('Warning: 62% of the test threads are out of distribution');
    expect(at(0.08)).not.toContain('out of distribution');
    const few = { ...beside({ er: 0.5 }), threads: { test: 9 } };
    expect(oneLine(screen([{ variant: 'once', trials: [few] }]))).toContain(
      'Warning: 9 test threads are too few for intervals; give at least 10, better 100.',
    );
  });

  it('gives mean and deviation over seeds, and the baselines once', () => {
    const results = ['paper', 'published'].map((variant) => ({
      variant,
      trials: [trial(1, { macroF1: 0.7, er: 0.2 }), trial(2, { macroF1: 0.8, er: 0.4 })],
    }));
    const text = markdown(...results);
    expect(text).toMatch(
      /## What was run\n\nWhat it asks\.\n\n.*threads: test 10 · seeds: 1, 2\.\n\n```sh\nearshot train/,
    );
    expect(text).toMatch(/\| \*\*stop agent: paper\*\* +\| 0\.750 ± 0\.071 \| 0\.300 ± 0\.141 \|/);
    // In the first table, and among all systems.
    expect(text.match(/^\| all posts /gm)).toHaveLength(2);
    expect(text).toContain('Rules are those of the splits of the variant paper; of 1 rules 1 are shown');
  });

  it('leaves the deviation of one seed and unknown hours out', () => {
    const text = markdown({ variant: 'agent', trials: [trial(1, { delayHours: null })] });
    expect(text).toMatch(/\| \*\*stop agent\*\* +\| +0\.500 \| +0\.500 \| +3\.0 \| +– \|/);
  });

  it('shows a few rules of a dense grid, and compares with all', () => {
    const grid = [4, 5].map((count) => system(`first ${count} posts`, { er: count / 10 }));
    const text = markdown({ variant: 'agent', trials: [trial(1, {}, grid)] }).split('## Every system')[1];
    expect(text).toContain('| first 4 posts');
    expect(text).not.toContain('| first 5 posts');
    expect(text).toContain('of 2 rules 1 are shown, and all are compared with');
  });

  it('shows one evaluation with its intervals', () => {
    const table = tableText(
      evaluationTable([system('all posts', { delayHours: null }), system('oracle', { queries: 'oracle' })]),
    );
    expect(table).toMatch(/\| all posts +\| 0\.500 \[0\.400, 0\.600\] \| +0\.400 \| +0\.600 \|/);
    expect(table).toMatch(/\| oracle .*\| +– \| post 4 \(20%\) +\|$/);
  });
});

describe('margins over rules', () => {
  it('summarize each system over the seeds that have it', () => {
    const cloning = system('behaviour cloning');
    const summary = summarize([trial(1, { macroF1: 0.6 }, [cloning]), trial(2, { macroF1: 0.8 }, [])]);
    expect(summary).toMatchObject([
      { name: agentName, values: { macroF1: { mean: expect.closeTo(0.7, 10), deviation: expect.any(Number) } } },
      { name: 'behaviour cloning', values: { macroF1: { mean: 0.5, deviation: null } } },
    ]);
  });

  it('are over rules that may query as often, and over no system that was learnt or sees labels', () => {
    const rules = [
      system('first post', { er: 0.1, macroF1: 0.5 }),
      system('all posts', { er: 1, macroF1: 0.9 }),
      system('confidence ≥ 0.8', { er: 0.2, macroF1: 0.8, queries: 'schedule', queriesPerThread: 3 }),
      system('confidence ≥ 0.9', { er: 0.1, macroF1: 0.8, queries: 'every', queriesPerThread: 9 }),
      system('behaviour cloning', { er: 0.1, macroF1: 1 }),
      system('oracle', { er: 0.1, macroF1: 1, queries: 'oracle' }),
    ];
    const agent = { er: 0.55, macroF1: 0.8, queriesPerThread: 3 };
    const margins = compareToRules([trial(1, agent, rules)]);
    expect(margins.overBestRule?.mean).toBeCloseTo(0.3, 10);
    expect(margins.overOneQuery?.mean).toBeCloseTo(0.8 - 0.7, 10);
    // Without the rule of nine queries: 9/16 of the confidence rule at 0.2 and 7/16 of all posts, at less than three.
    const few = rules.filter(({ queries }) => queries !== 'every');
    const withoutNine = compareToRules([trial(1, agent, few)]);
    expect(withoutNine.overEqualQueries?.mean).toBeCloseTo(0.8 - (0.8 + (0.35 / 0.8) * 0.1), 10);
    // A little of it may be mixed in, and as much as one likes where queries are free.
    expect(margins.overEqualQueries?.mean).toBeLessThan(withoutNine.overEqualQueries?.mean ?? 0);
    expect(margins.overAnyQueries?.mean).toBeLessThan(margins.overEqualQueries?.mean ?? 0);
    for (const margin of [
      margins.overBestRule,
      margins.overOneQuery,
      margins.overEqualQueries,
      margins.overAnyQueries,
    ]) {
      expect(margin?.interval?.low).toBeLessThanOrEqual(margin?.mean ?? 0);
      expect(margin?.interval?.high).toBeGreaterThanOrEqual(margin?.mean ?? 0);
    }
  });

  it('have intervals of the width of what so few threads may not show, and none below ten', () => {
    const right = trial(1, { er: 0.5, macroF1: 1 }, [system('all posts', { er: 0.5, macroF1: 1 })]);
    const unseen = 1 - 0.025 ** (1 / 20);
    const margin = compareToRules([right]).overEqualQueries;
    expect(margin?.interval?.low).toBeCloseTo(-unseen, 12);
    expect(margin?.interval?.high).toBeCloseTo(unseen, 12);
    const decisions = right.decisions.map((own) => ({ ...own, decisions: own.decisions.slice(0, 9) }));
    expect(compareToRules([{ ...right, decisions }]).overEqualQueries).toMatchObject({ mean: 0, interval: null });
  });

  it('are missing where no rule is as early', () => {
    const trials = [trial(1, { er: 0.05, macroF1: 0.5 })];
    expect(Object.values(compareToRules(trials))).toEqual([null, null, null, null]);
    expect(markdown({ variant: 'agent', trials })).toMatch(
      /\| \*\*agent\*\* .*\n\| – best rule of one query +( \| +–){4} \|/,
    );
  });

  it('can be computed again from the tables: macro-F1 less that of the mixture', () => {
    const rules = [
      system('first post', { er: 0.1, macroF1: 0.5 }),
      system('all posts', { er: 1, macroF1: 0.9 }),
      system('confidence ≥ 0.8', { er: 0.2, macroF1: 0.8, queries: 'schedule', queriesPerThread: 3 }),
    ];
    const seeds = [
      trial(1, { er: 0.55, macroF1: 0.8, queriesPerThread: 3 }, rules),
      trial(2, { er: 0.4, macroF1: 0.7, queriesPerThread: 2 }, rules),
    ];
    const found = compareToRules(seeds);
    const agent = 0.75;
    for (const [budget, margin] of Object.entries(found)) {
      const { macroF1, er, queriesPerThread } = margin!.rules;
      expect(margin?.mean).toBeCloseTo(agent - (macroF1?.mean ?? 0), 10);
      expect(er?.mean).toBeLessThanOrEqual(0.475 + 1e-9);
      if (budget !== 'overAnyQueries') expect(queriesPerThread?.mean).toBeLessThanOrEqual(2.5 + 1e-9);
    }
    const { tables, sections } = report({ variant: 'agent', trials: seeds });
    const [{ heading, rows }] = tables;
    const ofAgent = rows.find(([name]) => name === agentName) ?? [];
    const cell = (name: string) => Number.parseFloat(ofAgent[heading.indexOf(name)].replace('−', '-'));
    expect(cell('macro-F1') - cell('mixture')).toBeCloseTo(cell('lead'), 2);
    const [own, ...below] = sections
      .find(({ id }) => id === 'rules')!
      .blocks.flatMap((block) => (typeof block === 'object' && 'rows' in block ? block.rows : []));
    expect(below).toHaveLength(4);
    for (const [, macroF1, , , lead] of below)
      expect(Number.parseFloat(own[1]) - Number.parseFloat(macroF1)).toBeCloseTo(
        Number.parseFloat(lead.replace('−', '-')),
        2,
      );
  });
});
