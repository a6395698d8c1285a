import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { completionOf } from './completion-of.ts';
import type { ChatBody, ScriptedReply } from './scripted-rule.ts';

const lineSchema = z.object({ custom_id: z.string(), body: z.custom<ChatBody>() });
const createSchema = z.object({ input_file_id: z.string(), endpoint: z.string(), completion_window: z.string() });

interface Batch {
  readonly id: string;
  readonly inputFileId: string;
  polls: number;
}

/** The files and batches endpoints: a batch is finished when it was asked for `pollsUntilDone` times. */
export class BatchStore {
  pollsUntilDone = 2;
  /** How batches end; only `completed` ones have output. */
  finalStatus: 'completed' | 'failed' | 'expired' = 'completed';
  /** So many creations are not answered. */
  lostCreations = 0;
  uploads = 0;
  created = 0;
  private readonly files = new Map<string, string>();
  private readonly batches = new Map<string, Batch>();
  private readonly answer: (body: ChatBody) => ScriptedReply;

  constructor(answer: (body: ChatBody) => ScriptedReply) {
    this.answer = answer;
  }

  handle(options: { request: IncomingMessage; response: ServerResponse; body: Buffer }): void {
    const { request, response, body } = options;
    const [, kind, id, part] = (request.url ?? '').replace(/^\/v1/, '').split('/');
    const send = (value: unknown) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const file = this.files.get(id ?? '');
    const batch = this.batches.get(id ?? '');
    if (request.method === 'POST' && kind === 'files') send(this.upload(uploadedText(body)));
    else if (request.method === 'POST' && kind === 'batches') {
      const created = this.create(JSON.parse(body.toString()));
      // The batch exists, but its client never hears of it.
      if (this.lostCreations-- > 0) response.destroy();
      else send(created);
    } else if (kind?.startsWith('batches') && id === undefined)
      send({ object: 'list', data: [...this.batches.values()].map((each) => this.describe(each, 'in_progress')) });
    else if (kind === 'files' && file !== undefined && part === 'content') response.writeHead(200).end(file);
    else if (kind === 'batches' && batch) send(this.poll(batch));
    else
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: `nothing at ${request.method} ${request.url}` } }));
  }

  private upload(text: string): unknown {
    this.uploads++;
    return { id: this.put(text), object: 'file', purpose: 'batch' };
  }

  private create(body: unknown): unknown {
    const { input_file_id } = createSchema.parse(body);
    const batch: Batch = { id: `batch-${++this.created}`, inputFileId: input_file_id, polls: 0 };
    this.batches.set(batch.id, batch);
    return this.describe(batch, 'validating');
  }

  private poll(batch: Batch): unknown {
    batch.polls++;
    if (batch.polls < this.pollsUntilDone) return this.describe(batch, 'in_progress');
    if (this.finalStatus !== 'completed') return this.describe(batch, this.finalStatus);
    const output: string[] = [];
    const errors: string[] = [];
    for (const line of (this.files.get(batch.inputFileId) ?? '').split('\n').filter(Boolean)) {
      const { custom_id, body } = lineSchema.parse(JSON.parse(line));
      const reply = this.answer(body);
      if ('text' in reply) {
        const response = { status_code: 200, request_id: 'r', body: completionOf({ reply, asked: body }) };
        output.push(JSON.stringify({ id: 'x', custom_id, response, error: null }));
      } else {
        const status_code = 'status' in reply ? reply.status : 500;
        const message = 'status' in reply ? (reply.message ?? 'scripted') : 'scripted';
        const response = { status_code, request_id: 'r', body: { error: { message } } };
        errors.push(JSON.stringify({ id: 'x', custom_id, response, error: null }));
      }
    }
    return {
      ...this.describe(batch, 'completed'),
      // In any order, as the real thing.
      output_file_id: output.length > 0 ? this.put(output.reverse().join('\n')) : null,
      error_file_id: errors.length > 0 ? this.put(errors.join('\n')) : null,
    };
  }

  private describe(batch: Batch, status: string) {
    const errors = status === 'failed' ? { data: [{ code: 'scripted', message: 'scripted batch failure' }] } : null;
    return { id: batch.id, object: 'batch', status, input_file_id: batch.inputFileId, errors };
  }

  private put(text: string): string {
    const id = `file-${this.files.size + 1}`;
    this.files.set(id, text);
    return id;
  }
}

/** The lines of JSON in a multipart body; nothing else in it begins with a brace. */
function uploadedText(body: Buffer): string {
  return body
    .toString()
    .split(/\r?\n/)
    .filter((line) => line.startsWith('{'))
    .join('\n');
}
