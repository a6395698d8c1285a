import { AsyncLocalStorage } from 'node:async_hooks';
import type { Detector } from '../detector.ts';
import type { ChatService } from '../llm/chat.ts';
import { MalformedAnswerError } from '../llm/failures.ts';

/** One for all limits, for each that was ever used slows every promise of the process down. */
const allowances = new AsyncLocalStorage<{
  /** Whose limit it is. */
  readonly of: ChatService;
  left: number;
  /** The end of its last call. */
  last: Promise<unknown>;
}>();

/**
 * A limit on the output tokens of each judgement, all calls together (ZoFia, §5.6). The calls of a judgement go one after the
 * other, and each may write what the ones before have left. An answer that is cut off there cannot be read, and when nothing is
 * left nobody is asked: the judgement fails as one whose answer is unreadable.
 * @param options.most output tokens of a judgement
 */
export function limitedOutput({ service, most }: { service: ChatService; most: number }): {
  readonly service: ChatService;
  /** The detector that asks through the service, with the limit in all that can change its judgements. */
  limited(detector: Detector): Detector;
} {
  const chat: ChatService['chat'] = async (request) => {
    const allowance = allowances.getStore();
    if (allowance?.of !== service) return service.chat(request);
    const ask = async () => {
      const { left } = allowance;
      if (left <= 0)
        throw new MalformedAnswerError(`the ${most} output tokens of the judgement were written before its end`, {
          answers: [],
        });
      const limit = request.maxTokens ?? request.endpoint.maxTokens ?? left;
      const answer = await service.chat({ ...request, maxTokens: Math.min(limit, left) });
      allowance.left -= answer.usage.outputTokens;
      return answer;
    };
    const answer = allowance.last.then(ask, ask);
    allowance.last = answer;
    return answer;
  };
  return {
    service: { chat },
    limited: (detector) => ({
      ...detector,
      options: { ...detector.options, maxOutputTokens: most },
      judge: (prefix, context) =>
        allowances.run({ of: service, left: most, last: Promise.resolve() }, () => detector.judge(prefix, context)),
    }),
  };
}
