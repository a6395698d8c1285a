import { z } from 'zod';

export const chatBodySchema = z.looseObject({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
});

/** The body of a chat-completions request, further fields included. */
export type ChatBody = z.infer<typeof chatBodySchema>;

/** Tokens of the answer with the probabilities of the alternatives; the first alternative is the one chosen. */
export type ScriptedToken = Readonly<Record<string, number>>;

/** What the server does with a request. */
export type ScriptedReply =
  | {
      readonly text: string | null;
      /** Sent only when the request asks for log-probabilities. */
      readonly tokens?: readonly ScriptedToken[];
      readonly refusal?: string;
      readonly finishReason?: string;
      /** null: the response tells none. Otherwise counted in words. */
      readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number } | null;
      readonly delayMs?: number;
      /** Sends the body in pieces of one character, so far apart. */
      readonly trickleMs?: number;
    }
  | {
      readonly status: number;
      readonly message?: string;
      readonly code?: string;
      /** Instead of an error as OpenAI puts it. */
      readonly rawBody?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly delayMs?: number;
    }
  | { readonly body: string; readonly delayMs?: number }
  | { readonly fault: 'hang' | 'cut' | 'cut-in-body' | 'empty-choices'; readonly delayMs?: number };

/** A rule decides by what is asked and by how many requests came before. */
export type ScriptedRule = (body: ChatBody, call: { readonly index: number }) => ScriptedReply | string;

/** A rule that plays replies one after the other and keeps to the last. */
export function inTurn(replies: readonly (ScriptedReply | string)[]): ScriptedRule {
  return (_body, { index }) => replies[Math.min(index, replies.length - 1)];
}

/** The text of the last message, which is what most rules look at. */
export function lastMessage(body: ChatBody): string {
  return body.messages.at(-1)?.content ?? '';
}
