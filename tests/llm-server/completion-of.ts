import type { ChatBody, ScriptedReply, ScriptedToken } from './scripted-rule.ts';

/** The response body of a chat completion. */
export function completionOf(options: { reply: Extract<ScriptedReply, { text: string | null }>; asked: ChatBody }) {
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

/** The same as a stream of server-sent events, a chunk for each character, the usage in the last one. */
export function streamOf(completion: ReturnType<typeof completionOf>): string {
  const { choices, usage, ...shared } = completion;
  const [{ message, finish_reason, logprobs }] = choices;
  const chunk = (delta: object, more: object = {}) => ({ ...shared, choices: [{ index: 0, delta, ...more }] });
  const chunks = [
    chunk({ role: 'assistant', content: '' }, { finish_reason: null }),
    ...[...(message.content ?? '')].map((content) => chunk({ content })),
    chunk({}, { finish_reason, logprobs }),
    { ...shared, choices: [], usage },
  ];
  return `${chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')}data: [DONE]\n\n`;
}

function logprobsOf(alternatives: ScriptedToken): Record<string, unknown> {
  const top = Object.entries(alternatives).map(([token, probability]) => ({ token, logprob: Math.log(probability) }));
  return { ...top[0], top_logprobs: top };
}
