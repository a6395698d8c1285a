import { describe, expect, it } from 'vitest';
import { inSession } from '../../../experts/detectors/session.ts';
import type { ChatRequest, ChatService } from '../../../experts/llm/chat.ts';
import { endpointSchema } from '../../../experts/llm/endpoint.ts';

const endpoint = endpointSchema.parse({ name: 'e', baseURL: 'http://localhost:1/v1', model: 'm' });
const asking = (content: string): ChatRequest => ({
  endpoint,
  messages: [{ role: 'user', content }],
  dryRunText: '',
});

describe('inSession', () => {
  it('ends the calls under way when one fails, and begins no other', async () => {
    const ended: string[] = [];
    const service: ChatService = {
      chat: ({ messages: [{ content }], signal }) =>
        new Promise((_resolve, reject) => {
          if (content === 'fails') setImmediate(() => reject(new Error('no answer')));
          signal?.addEventListener('abort', () => {
            ended.push(content);
            reject(signal.reason);
          });
        }),
    };
    let later: Promise<unknown> = Promise.resolve();
    const work = inSession({ service, context: undefined }, async (session) => {
      const slow = session.service.chat(asking('slow'));
      later = slow.catch(() => session.service.chat(asking('later')));
      later.catch(() => {});
      await Promise.all([slow, session.service.chat(asking('fails'))]);
    });
    await expect(work).rejects.toThrow('no answer');
    await expect(later).rejects.toThrow('no answer');
    expect(ended).toEqual(['slow', 'fails']);
  });

  it('ends with the context that its judgement was given', async () => {
    const controller = new AbortController();
    const service: ChatService = {
      chat: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason));
        }),
    };
    const judging = inSession({ service, context: { signal: controller.signal } }, (session) =>
      session.service.chat(asking('slow')),
    );
    controller.abort(new Error('Ctrl-C'));
    await expect(judging).rejects.toThrow('Ctrl-C');
  });
});
