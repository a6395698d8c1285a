import type { z } from 'zod';
import type { ChatService } from '../llm/chat.ts';
import { chatJson } from '../llm/chat-json.ts';
import type { Endpoint } from '../llm/endpoint.ts';
import type { AskOnce } from './ask-once.ts';

/** A language model in a role. */
export interface RoleModel {
  readonly service: ChatService;
  readonly endpoint: Endpoint;
  /** What of the endpoint can change an answer. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Puts a question that is answered from its words alone, so that the same one needs no second answer. */
export function askModel<T>(question: {
  model: RoleModel;
  /** The detector's name, a slash and what is asked, as annotations of parts are called. */
  part: string;
  version: string;
  promptVersion: number;
  content: string;
  schema: z.ZodType<T>;
  dryRunValue: T;
  askOnce: AskOnce;
}): Promise<T> {
  const { model, part, version, promptVersion, content, schema, dryRunValue, askOnce } = question;
  const { service, endpoint } = model;
  const schemaName = part.replace(/^.*\//, '').replaceAll('-', '_');
  return askOnce(
    { detector: part, version, options: { promptVersion, model: model.options }, input: content, schema },
    () => chatJson({ service, endpoint, messages: [{ role: 'user', content }], schema, schemaName, dryRunValue }),
  );
}
