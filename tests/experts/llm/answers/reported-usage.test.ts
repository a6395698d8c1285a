import { expect, it } from 'vitest';
import { reportedUsage } from '../../../../experts/llm/answers/completion.ts';

const nothing = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, cost: null };

it.each([
  [
    { prompt_tokens: 20, completion_tokens: 3 },
    { inputTokens: 20, outputTokens: 3 },
  ],
  [
    { prompt_tokens: '20', completion_tokens: ' 3.0 ' },
    { inputTokens: 20, outputTokens: 3 },
  ],
  [{ prompt_tokens: 'many', completion_tokens: '' }, {}],
  [
    { prompt_tokens: 32, completion_tokens: 9, total_tokens: '135' },
    { inputTokens: 32, outputTokens: 103 },
  ],
  [{ prompt_tokens: 1e300, completion_tokens: `1${'0'.repeat(300)}`, total_tokens: 1e300 }, {}],
  [{ prompt_tokens: -1, completion_tokens: 2 }, { outputTokens: 2 }],
  [
    { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: '4' } },
    { inputTokens: 9, cachedInputTokens: 4 },
  ],
  [
    { prompt_tokens: 9, prompt_cache_hit_tokens: 5 },
    { inputTokens: 9, cachedInputTokens: 5 },
  ],
  [{ cost: 0.00012 }, { cost: 0.00012 }],
  [{ cost: '0.5' }, { cost: 0.5 }],
  [{ cost: 1e300 }, {}],
  [{ cost: { total: 1 } }, {}],
])('reads %j', (usage, told) => {
  expect(reportedUsage({ usage })).toEqual({ ...nothing, ...told });
});

it('reads nothing where there is no usage', () => {
  for (const json of [null, 'x', {}, { usage: null }, { usage: [] }]) expect(reportedUsage(json)).toEqual(nothing);
});
