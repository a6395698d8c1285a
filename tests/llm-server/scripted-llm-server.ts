import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { BatchStore } from './batch-store.ts';
import { completionOf, streamOf } from './completion-of.ts';
import { type ChatBody, chatBodySchema, type ScriptedReply, type ScriptedRule } from './scripted-rule.ts';

export interface RecordedRequest {
  readonly body: ChatBody;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/**
 * A server on this machine that speaks the chat-completions protocol (and files and batches) and does as it is told:
 * `await ScriptedLlmServer.start((body) => 'yes')`. A string is short for an answer of that text.
 */
export class ScriptedLlmServer {
  readonly requests: RecordedRequest[] = [];
  /** The batch jobs; their requests are answered by the same rule but do not count as `requests`. */
  readonly batches: BatchStore;
  rule: ScriptedRule;
  /** The most requests that were under way at once. */
  maxConcurrency = 0;
  /** Nothing is answered before so many requests were under way at once, however slow the machine is. */
  gathers = 0;
  private readonly waiting: (() => void)[] = [];
  private underWay = 0;
  private readonly server;

  private constructor(rule: ScriptedRule) {
    this.rule = rule;
    this.batches = new BatchStore((body) => this.replyTo(chatBodySchema.parse(body), 0));
    this.server = createServer((request, response) => {
      this.handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(JSON.stringify({ error: { message: `the test server failed: ${error}` } }));
      });
    });
  }

  static async start(rule: ScriptedRule = () => 'yes'): Promise<ScriptedLlmServer> {
    const scripted = new ScriptedLlmServer(rule);
    scripted.server.listen(0, '127.0.0.1');
    await once(scripted.server, 'listening');
    return scripted;
  }

  get baseURL(): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/v1`;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url ?? '', 'http://here');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (path !== '/v1/chat/completions') return this.batches.handle({ request, response, body });
    this.underWay++;
    this.maxConcurrency = Math.max(this.maxConcurrency, this.underWay);
    response.once('close', () => this.underWay--);
    if (this.maxConcurrency < this.gathers) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else for (const proceed of this.waiting.splice(0)) proceed();
    const asked = chatBodySchema.parse(JSON.parse(body.toString()));
    const index = this.requests.length;
    this.requests.push({ body: asked, headers: plainHeaders(request), query: Object.fromEntries(searchParams) });
    await this.play({ reply: this.replyTo(asked, index), asked, response });
  }

  private replyTo(body: ChatBody, index: number): ScriptedReply {
    const reply = this.rule(body, { index });
    return typeof reply === 'string' ? { text: reply } : reply;
  }

  private async play(options: { reply: ScriptedReply; asked: ChatBody; response: ServerResponse }): Promise<void> {
    const { reply, asked, response } = options;
    if (reply.delayMs !== undefined) await delay(reply.delayMs);
    if ('fault' in reply) return fail({ fault: reply.fault, asked, response });
    if ('status' in reply) {
      const { status, message = `scripted status ${status}`, code = null, rawBody, headers = {} } = reply;
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(rawBody ?? JSON.stringify({ error: { message, code, type: 'scripted' } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    if ('body' in reply) {
      response.end(reply.body);
      return;
    }
    const completion = completionOf({ reply, asked });
    const text = asked.stream === true ? streamOf(completion) : JSON.stringify(completion);
    if (reply.trickleMs !== undefined) {
      for (const character of text) {
        if (response.destroyed) return;
        response.write(character);
        await delay(reply.trickleMs);
      }
      response.end();
    } else response.end(text);
  }
}

function fail(options: {
  fault: Extract<ScriptedReply, { fault: string }>['fault'];
  asked: ChatBody;
  response: ServerResponse;
}): void {
  const { fault, asked, response } = options;
  if (fault === 'hang') return;
  if (fault === 'cut') {
    response.destroy();
    return;
  }
  const text = JSON.stringify(completionOf({ reply: { text: 'yes' }, asked }));
  if (fault === 'cut-in-body') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(text.slice(0, 20), () => response.destroy());
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'x', choices: [] }));
}

function plainHeaders(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
}
