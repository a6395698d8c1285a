import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { dispatcherOf } from '../../experts/llm/sending/guarded-fetch.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { chatBodySchema, lastMessage } from '../llm-server/scripted-rule.ts';

const withSchema = z.looseObject({
  response_format: z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: z.unknown() }) }),
});

/** What a model is asked whose answer could not be read. */
const asksAgain = /^(?:Your answer could not be used|Answer .+ only\.$)/;

/**
 * Passes requests on to llama.cpp's Python server, counts answers, and translates JSON schemas, which that server knows by a name of
 * its own, or refuses them.
 * @param options.longestText characters that a text inside a JSON answer may have: a small model goes on until it is cut off, and the
 *   answer after its reasons with it
 */
export async function countingProxy(
  upstream: string,
  { schemas, port: wanted = 0, longestText }: { schemas: boolean; port?: number; longestText?: number },
) {
  const counts = { answers: 0, withLogprobs: 0, repairs: 0 };
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const parsed = jsonOrUndefined(body.toString());
    const schema = withSchema.safeParse(parsed);
    const wantsSchema = typeof parsed === 'object' && parsed !== null && 'response_format' in parsed;
    if (wantsSchema && !schemas) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'response_format is not supported by this model' } }));
      return;
    }
    if (schema.success) {
      const asked = schema.data.response_format.json_schema.schema;
      Object.assign(schema.data, {
        response_format: {
          type: 'json_object',
          schema: longestText === undefined ? asked : bounded(asked, longestText),
        },
      });
    }
    const answer = await fetch(`${upstream}${request.url?.replace(/^\/v1/, '') ?? ''}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      body: schema.success ? JSON.stringify(schema.data) : body,
      // A small machine may need longer than the five minutes that fetch waits.
      dispatcher: await dispatcherOf(process.env),
    });
    const text = await answer.text();
    if (answer.ok) counts.answers++;
    const asked = chatBodySchema.safeParse(parsed).data;
    if (answer.ok && asked && asksAgain.test(lastMessage(asked))) counts.repairs++;
    if (/"logprobs":\s*\{/.test(text)) counts.withLogprobs++;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(wanted, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return { counts, baseURL: `http://127.0.0.1:${port}/v1`, close: () => proxy.close() };
}

/**
 * A JSON schema whose texts have at most so many characters and whose lists at most three entries. The characters are named, because the
 * server lets a model break lines inside a JSON text, which no reader of JSON takes.
 */
function bounded(schema: unknown, longestText: number): unknown {
  if (Array.isArray(schema)) return schema.map((each) => bounded(each, longestText));
  if (typeof schema !== 'object' || schema === null) return schema;
  const own: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, bounded(value, longestText)]),
  );
  if (own.type === 'string' && !('enum' in own) && !('const' in own))
    return { ...own, pattern: `^[A-Za-z0-9 .,:;!?()'-]{1,${longestText}}$` };
  return own.type === 'array' ? { ...own, maxItems: 3 } : own;
}
