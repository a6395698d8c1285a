import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { ProviderError } from '../../src/errors.ts';
import { readCompletion } from './answers/completion.ts';
import { batchForm, completionBody } from './answers/request-form.ts';
import { pythonJson } from './answers/response-json.ts';
import { CallFailure } from './call-failure.ts';
import type { ChatAnswer, ChatRequest } from './chat.ts';
import { costField } from './cost/cost-of.ts';
import { type BatchJobOptions, endedBatch } from './sending/batch-job.ts';

/** OpenAI's limits for one batch. */
const MOST_REQUESTS = 50_000;
const MOST_BYTES = 200_000_000;

export interface BatchItem {
  /** A unique id in the batch, under which the answer comes back. */
  readonly customId: string;
  readonly request: ChatRequest;
}

export type BatchOutcome = { readonly answer: ChatAnswer } | { readonly problem: string };

/**
 * Writes the requests, submits them, waits and collects the answers; usually for half the price and within a day. For
 * errors, see `endedBatch`.
 */
export async function runBatch({
  items,
  ...job
}: BatchJobOptions & { items: readonly BatchItem[] }): Promise<Map<string, BatchOutcome>> {
  return batchOutcomes({ items, ...(await endedBatch(items.map(batchLine).join(''), job)) });
}

/** A request as a line of a batch. */
export function batchLine({ customId, request }: BatchItem): string {
  const body = completionBody({ request, form: batchForm(request) });
  return `${JSON.stringify({ custom_id: customId, method: 'POST', url: '/v1/chat/completions', body })}\n`;
}

/** Splits requests into batches within the limits of endpoints. */
export function batchesOf(items: readonly BatchItem[]): BatchItem[][] {
  const batches: BatchItem[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const itemBytes = Buffer.byteLength(batchLine(item));
    if (bytes + itemBytes > MOST_BYTES || batches.at(-1)?.length === MOST_REQUESTS) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(item);
    bytes += itemBytes;
  }
  return batches;
}

const lineSchema = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.number(), body: z.unknown().optional() }).nullish().catch(null),
  error: z.unknown().optional(),
});
const messageSchema = z.object({ message: z.string() });
const withMessageSchema = z.object({ error: z.object({ message: z.string() }) });

/**
 * Each item's answer, or the reason why it has none. Lines may come in any order. A line that breaks the protocol costs
 * its own item only, because the others are paid for.
 * @throws ProviderError if no line follows the protocol
 */
export function batchOutcomes(options: {
  items: readonly BatchItem[];
  lines: readonly string[];
  /** The batch's final status, reported for items without a line. */
  status: string;
}): Map<string, BatchOutcome> {
  const { items, lines, status } = options;
  const read = lines.flatMap((line) => lineSchema.safeParse(pythonJson(line)).data ?? []);
  if (read.length === 0 && lines.length > 0)
    throw new ProviderError(
      `the batch's output is not what the batch protocol says: ${lines[0].slice(0, 200)}; check that the endpoint speaks ` +
        'it, or ask without batches',
    );
  const linesById = new Map<string, z.infer<typeof lineSchema>[]>();
  for (const line of read) linesById.set(line.custom_id, [...(linesById.get(line.custom_id) ?? []), line]);
  return new Map(
    items.map(({ customId, request }) => {
      const [line, ...others] = linesById.get(customId) ?? [];
      if (line === undefined) return [customId, { problem: `the batch ended (${status}) without an answer to it` }];
      // Several different answers to one item: none of them can be trusted.
      if (!others.every((other) => isDeepStrictEqual(other, line)))
        return [customId, { problem: `the batch has ${others.length + 1} different lines for it` }];
      return [customId, outcomeOf({ line, request })];
    }),
  );
}

function outcomeOf({ line, request }: { line: z.infer<typeof lineSchema>; request: ChatRequest }): BatchOutcome {
  if (!line.response) return { problem: problemIn(line.error) };
  const { status_code, body } = line.response;
  if (status_code !== 200) {
    const parsed = withMessageSchema.safeParse(body);
    const message = parsed.success ? parsed.data.error.message : (JSON.stringify(body) ?? '(no body)');
    // In a batch, no first request finds out what the endpoint refuses.
    const advice = status_code === 400 ? '; if it refuses a parameter, change that of the endpoint' : '';
    return { problem: `status ${status_code}: ${message}${advice}` };
  }
  const { answer, tokens, reportedCost } = readCompletion({ body: JSON.stringify(body), request });
  if (answer instanceof CallFailure) return { problem: answer.message };
  const cost = costField({ endpoint: request.endpoint, usage: tokens, reportedCost, isBatch: true });
  // In a batch a single answer has no latency.
  return { answer: { ...answer, latencyMs: 0, usage: { requests: 1, ...tokens, ...cost } } };
}

function problemIn(error: unknown): string {
  if (error === undefined || error === null) return 'neither a response nor an error';
  return messageSchema.safeParse(error).data?.message ?? JSON.stringify(error);
}
