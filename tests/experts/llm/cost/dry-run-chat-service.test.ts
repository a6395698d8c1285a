import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatJson } from '../../../../experts/llm/answers/ask-with-repair.ts';
import { estimateTokens } from '../../../../experts/llm/cost/cost-of.ts';
import { DryRunChatService, dryRunSummary } from '../../../../experts/llm/cost/dry-run-chat-service.ts';
import { ask, endpointAt, startServer } from '../service.ts';

describe('DryRunChatService', () => {
  it('answers what the caller expects, counts calls, tokens and cost, and sends nothing', async () => {
    const server = await startServer();
    const prices = { inputPerMillion: 1_000_000, outputPerMillion: 2_000_000 };
    const endpoint = endpointAt(server, { prices, maxTokens: 50 });
    const service = new DryRunChatService();
    expect((await service.chat(ask(endpoint))).text).toBe('yes');
    const asked = await chatJson({
      service,
      endpoint,
      schema: z.object({ label: z.string() }),
      schemaName: 'verdict',
      dryRunValue: { label: 'x' },
      messages: [{ role: 'user', content: 'Is it true?' }],
    });
    expect(asked.value).toEqual({ label: 'x' });
    const [row] = service.rows();
    expect(row).toMatchObject({ endpoint: 'scripted', model: 'tiny', calls: 2, outputTokensAtMost: 100 });
    expect(row.inputTokens).toBeGreaterThan(20);
    expect(row.cost).toBeCloseTo(row.inputTokens + 2 * row.outputTokens, 6);
    expect(row.costAtMost).toBeCloseTo(row.inputTokens + 2 * 100, 6);
    expect(server.requests).toHaveLength(0);
    // Only the second is sent back where it cannot be read, with its answer, and may be as long again.
    expect(row.repairs).toMatchObject({ calls: 1, outputTokensAtMost: 50 });
    expect(row.repairs.inputTokens).toBeGreaterThan(row.inputTokens / 2 + 60);
    expect(dryRunSummary(service.rows())).toMatch(
      /^scripted \(tiny\): 2 to 3 calls, about \d+ to \d+ tokens in and \d+ to \d+ out \(at most 150\), cost about [\d.]+ to [\d.]+, at most [\d.]+; retries not counted$/,
    );
    const lower = new DryRunChatService({ bound: 'lower' });
    const answer = await lower.chat(ask(endpoint, { shortestDryRunText: 'n' }));
    expect(answer.text).toBe('n');
    expect(lower.hasShorter).toBe(true);
    expect(dryRunSummary(service.rows(lower))).toMatch(/^scripted \(tiny\): 1 to 3 calls, about \d+ to \d+ tokens in/);
  });

  it('counts an answer to a schema as JSON, but at least as the plain text that may do', async () => {
    const jsonSchema = { name: 'verdict', schema: { properties: { answer: {} } }, isPlainTextEnough: true };
    const outputOf = async (bound: 'lower' | 'upper', more: object) => {
      const service = new DryRunChatService({ bound });
      await service.chat(ask(endpointAt({ baseURL: 'http://localhost:1/v1' }), { jsonSchema, ...more }));
      return [service.rows()[0].outputTokens, service.hasShorter];
    };
    expect(await outputOf('lower', {})).toEqual([1, true]);
    expect(await outputOf('upper', {})).toEqual([estimateTokens('{"answer":"yes"}'), true]);
    expect(await outputOf('upper', { maxTokens: 2 })).toEqual([2, true]);
    expect(await outputOf('upper', { jsonSchema: undefined })).toEqual([1, false]);
  });

  it('charges a batch with its share', async () => {
    const prices = { inputPerMillion: 1, outputPerMillion: 1 };
    const costOf = async (batchShare: number | undefined, isBatch: boolean) => {
      const service = new DryRunChatService({ isBatch });
      const own = batchShare === undefined ? prices : { ...prices, batchShare };
      await service.chat(ask(endpointAt({ baseURL: 'http://localhost:1/v1' }, { prices: own })));
      return service.rows()[0].costAtMost;
    };
    const whole = await costOf(undefined, false);
    expect(await costOf(undefined, true)).toBeCloseTo(whole / 2, 12);
    expect(await costOf(0.8, true)).toBeCloseTo(0.8 * whole, 12);
  });

  it('says where the prices are from', async () => {
    const summaryOf = async (more: object) => {
      const service = new DryRunChatService();
      await service.chat(ask(endpointAt({ baseURL: 'http://localhost:1/v1' }, more)));
      return dryRunSummary(service.rows());
    };
    expect(await summaryOf({})).toContain(', cost unknown: give the endpoint prices;');
    expect(await summaryOf({ model: 'gpt-4o' })).toMatch(
      /cost about .*by the shipped price list of \d{4}-\d\d: check it/,
    );
    expect(await summaryOf({ prices: {} })).not.toContain('cost');
  });
});

describe('estimateTokens', () => {
  // Counted with the vocabularies o200k_base and cl100k_base.
  it.each([
    ['The quick brown fox jumps over the lazy dog.', 10, 10],
    ['BREAKING: several shots fired at the Parliament building in Ottawa, witnesses say', 15, 15],
    ['@CNN omg is this real?? http://t.co/8dH3kLmZpQ #Ottawa #shooting 😱😱', 31, 34],
    ['震惊！某地发生重大事故，官方尚未回应', 13, 24],
    ['网传某地自来水投毒，警方辟谣：系谣言，请勿传播', 23, 29],
  ])('guesses %j within 30%% of what vocabularies make of it', (text, fewest, most) => {
    expect(estimateTokens(text)).toBeGreaterThan(fewest * 0.7);
    expect(estimateTokens(text)).toBeLessThan(most * 1.3);
  });
});
