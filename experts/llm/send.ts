import { performance } from 'node:perf_hooks';
import type OpenAI from 'openai';
import { CallFailure } from './call-failure.ts';

/**
 * Posts a body and reads the whole response within `timeoutMs`. After an abort the request has `graceMs` left to end,
 * because what was sent is paid for; then the signal's reason is thrown.
 */
export async function send(options: {
  client: OpenAI;
  path: string;
  body: Record<string, unknown>;
  timeoutMs: number;
  graceMs: number;
  signal: AbortSignal | null;
}): Promise<{ readonly body: string; readonly latencyMs: number }> {
  const { client, path, body, timeoutMs, graceMs, signal } = options;
  signal?.throwIfAborted();
  const controller = new AbortController();
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    controller.abort();
  }, timeoutMs);
  let grace: NodeJS.Timeout | undefined;
  const onAbort = () => {
    grace = setTimeout(() => controller.abort(), graceMs);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const started = performance.now();
  try {
    const response = await client.post(path, { body, signal: controller.signal }).asResponse();
    const text = await response.text();
    return { body: text, latencyMs: performance.now() - started };
  } catch (error) {
    if (isTimedOut) throw new CallFailure({ kind: 'timeout', message: `no answer after ${timeoutMs} ms` });
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    signal?.removeEventListener('abort', onAbort);
  }
}
