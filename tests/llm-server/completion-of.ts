import type { ChatBody, ScriptedReply, ScriptedToken } from './scripted-rule.ts';

/** The response body of a chat completion. */
export function completionOf(options: {
  reply: Extract<ScriptedReply, { text: string | null }>;
  asked: ChatBody;
}): Record<string, unknown> {
  const { reply, asked } = options;
  const words = (text: string) => text.split(/\s+/).filter(Boolean).length;
  const counted = {
    input: words(asked.messages.map(({ content }) => content).join(' ')),
    output: words(reply.text ?? ''),
  };
  const usage = reply.usage === undefined ? counted : reply.usage;
  const wantsLogprobs = asked.logprobs === true && reply.tokens !== undefined;
  return {
    id: 'scripted',
    object: 'chat.completion',
    model: asked.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: reply.text, refusal: reply.refusal ?? null },
        finish_reason: reply.finishReason ?? 'stop',
        logprobs: wantsLogprobs ? { content: reply.tokens?.map(logprobsOf) } : null,
      },
    ],
    ...(usage && {
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.output,
        prompt_tokens_details: { cached_tokens: 'cached' in usage ? usage.cached : 0 },
      },
    }),
  };
}

function logprobsOf(alternatives: ScriptedToken): Record<string, unknown> {
  const top = Object.entries(alternatives).map(([token, probability]) => ({ token, logprob: Math.log(probability) }));
  return { ...top[0], top_logprobs: top };
}
