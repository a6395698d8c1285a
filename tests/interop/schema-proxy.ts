import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { dispatcherOf } from '../../experts/llm/sending/guarded-fetch.ts';
import { jsonOrUndefined } from '../../src/json.ts';

const withSchema = z.looseObject({
  response_format: z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: z.unknown() }) }),
});

/**
 * Passes requests on to llama.cpp's Python server, counts answers, and translates JSON schemas, which that server knows by a name of
 * its own, or refuses them.
 */
export async function countingProxy(
  upstream: string,
  { schemas, port: wanted = 0 }: { schemas: boolean; port?: number },
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
    if (schema.success)
      Object.assign(schema.data, {
        response_format: { type: 'json_object', schema: schema.data.response_format.json_schema.schema },
      });
    const answer = await fetch(`${upstream}${request.url?.replace(/^\/v1/, '') ?? ''}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      body: schema.success ? JSON.stringify(schema.data) : body,
      // A small machine may need longer than the five minutes that fetch waits.
      dispatcher: await dispatcherOf(process.env),
    });
    const text = await answer.text();
    if (answer.ok) counts.answers++;
    if (answer.ok && body.includes('Your answer could not be used')) counts.repairs++;
    if (/"logprobs":\s*\{/.test(text)) counts.withLogprobs++;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(wanted, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return { counts, baseURL: `http://127.0.0.1:${port}/v1`, close: () => proxy.close() };
}
