import { afterEach } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../experts/llm/chat.ts';
import { type Endpoint, type EndpointInput, endpointSchema } from '../../../experts/llm/endpoint.ts';
import { type LiveChatOptions, LiveChatService } from '../../../experts/llm/sending/live-chat-service.ts';
import { Random } from '../../../src/tensor/random.ts';
import { ScriptedLlmServer } from '../../llm-server/scripted-llm-server.ts';
import type { ScriptedRule } from '../../llm-server/scripted-rule.ts';

const running: ScriptedLlmServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

/** A scripted server that is stopped when the test ends. */
export async function startServer(rule?: ScriptedRule): Promise<ScriptedLlmServer> {
  const server = await ScriptedLlmServer.start(rule);
  running.push(server);
  return server;
}

/** Leaves an address where nobody listens. */
export async function stopServer(server: ScriptedLlmServer): Promise<void> {
  running.splice(running.indexOf(server), 1);
  await server.stop();
}

export function endpointAt(server: { baseURL: string }, input: Partial<EndpointInput> = {}): Endpoint {
  return endpointSchema.parse({ name: 'scripted', baseURL: server.baseURL, model: 'tiny', ...input });
}

/** Waits next to nothing before it tries again. */
export function quickService(options: Partial<LiveChatOptions> = {}): LiveChatService {
  const random = Random.seeded({ seed: 1, purpose: 'jitter' });
  return new LiveChatService({ random, env: {}, ...options, retry: { baseMs: 1, capMs: 4, ...options.retry } });
}

export function ask(endpoint: Endpoint, request: Partial<ChatRequest> | string = {}): ChatRequest {
  const content = typeof request === 'string' ? request : 'Is it true?';
  const messages: ChatMessage[] = [{ role: 'user', content }];
  return { endpoint, messages, dryRunText: 'yes', ...(typeof request === 'string' ? {} : request) };
}
