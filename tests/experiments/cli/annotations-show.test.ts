import { expect, it } from 'vitest';
import { debateText } from '../../../experiments/cli/annotations-show.ts';

it('breaks long speeches and posts between words', () => {
  const long = 'word '.repeat(60).trim();
  const text = debateText({
    key: 'k',
    request: { detector: 'd', version: '1', options: {}, input: [long], sampleIndex: 0 },
    rawResponse: null,
    judgement: {
      label: 'rumor',
      probabilities: null,
      explanation: long,
      transcript: [{ role: 'judge', text: `${long}\n\n${'x'.repeat(200)}\n` }],
      usage: { requests: 1, inputTokens: 1, outputTokens: 1 },
    },
    latencyMs: null,
    date: '2026-01-01T00:00:00Z',
    threadId: 't',
    prefixLength: 1,
  });
  const lines = text.split('\n');
  expect(lines.filter((line) => line.length > 96)).toEqual(['x'.repeat(200)]);
  expect(text.match(/word/g)).toHaveLength(180);
  expect(lines).toContain(`  1. ${'word '.repeat(18).trim()}`);
  expect(lines.filter((line) => line.startsWith('     word'))).not.toHaveLength(0);
});
