import { expect, it } from 'vitest';
import { debateText } from '../../../experiments/cli/annotations-show.ts';

const long = 'word '.repeat(60).trim();
const usage = { requests: 1, inputTokens: 20, outputTokens: 3, cost: 0.00025 };
const row = {
  key: 'k',
  request: { detector: 'd', version: '1', options: {}, input: [long], sampleIndex: 0 },
  rawResponse: null,
  judgement: {
    label: 'rumor',
    probabilities: null,
    explanation: long,
    transcript: [
      {
        role: 'web',
        text: 'found',
        round: 'Analysis',
        sources: [{ title: 'News', url: 'https://news.example/1', date: '2020-01-02' }],
      },
      { role: 'member 1', text: `${long}\n\n${'x'.repeat(200)}\n`, round: 'Round 1', vote: 'rumor', model: 'm', usage },
      { role: 'member 2', text: 'no', round: 'Round 1', vote: 'non-rumor' },
      { role: 'member 3', text: 'yes', round: 'Round 1', vote: 'rumor' },
    ],
    usage,
  },
  latencyMs: null,
  date: '2026-01-01T00:00:00Z',
  threadId: 't',
  prefixLength: 1,
};

it('shows the rounds, with votes, sources and what each step took', () => {
  const text = debateText(row);
  expect(text).toContain('\n── Analysis ──\n\n[web]\nfound\n  News (2020-01-02): https://news.example/1\n');
  expect(text).toContain(
    '\n── Round 1: rumor 2, non-rumor 1 ──\n\n[member 1] rumor (m: 1 request, 20 tokens in, 3 out, cost 0.000250)\n',
  );
  expect(text).toContain('\n\n[member 2] non-rumor\nno\n');
});

it('breaks long speeches and posts between words', () => {
  const lines = debateText(row).split('\n');
  expect(lines.filter((line) => line.length > 96)).toEqual(['x'.repeat(200)]);
  expect(lines.join().match(/word/g)).toHaveLength(180);
  expect(lines).toContain(`  1. ${'word '.repeat(18).trim()}`);
  expect(lines.filter((line) => line.startsWith('     word'))).not.toHaveLength(0);
});
