import { AsyncLocalStorage } from 'node:async_hooks';
import type { Detector } from '../detector.ts';
import type { ChatService } from '../llm/chat.ts';
import { MalformedAnswerError } from '../llm/failures.ts';

/** Shared by all limits, because each storage that was ever used slows every promise of the process. */
const allowances = new AsyncLocalStorage<{
  /** The service with the limit. */
  readonly of: ChatService;
  left: number;
  /** The end of the last call. */
  last: Promise<unknown>;
}>();

/**
 * Limits the output tokens of each judgement over all its calls (ZoFia, §5.6). The calls run one after the other, and
 * each may use what the earlier ones left. An answer that is cut off is unreadable, and without tokens left no call is
 * made: the judgement fails as unreadable.
 * @param options.most output tokens per judgement
 */
export function limitedOutput({ service, most }: { service: ChatService; most: number }): {
  readonly service: ChatService;
  /** Wraps a detector that uses the service. The limit joins the options that can change its judgements. */
  limited(detector: Detector): Detector;
} {
  const chat: ChatService['chat'] = async (request) => {
    const allowance = allowances.getStore();
    if (allowance?.of !== service) return service.chat(request);
    const ask = async () => {
      const { left } = allowance;
      if (left <= 0)
        throw new MalformedAnswerError(
          `the ${most} output tokens of the judgement were written before its end; raise maxOutputTokens`,
          { answers: [] },
        );
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
