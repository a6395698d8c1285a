import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';

const createSchema = z.object({
  model: z.string(),
  training_file: z.string(),
  hyperparameters: z.object({ n_epochs: z.number() }).optional(),
});

interface Job {
  readonly id: string;
  readonly asked: z.infer<typeof createSchema>;
  polls: number;
}

/** The files and jobs of fine-tuning: a job has ended when it was asked for `pollsUntilDone` times. */
export class FineTuningStore {
  pollsUntilDone = 2;
  finalStatus: 'succeeded' | 'failed' | 'cancelled' = 'succeeded';
  failure = 'scripted job failure';
  /** So many creations are not answered. */
  lostCreations = 0;
  /** Instead of a creation. */
  refusal: { readonly status: number; readonly message: string } | null = null;
  /** What was uploaded, by the id of the file. */
  readonly files = new Map<string, string>();
  readonly jobs: Job[] = [];

  static isMeant(options: { path: string; body: Buffer }): boolean {
    const { path, body } = options;
    return path.startsWith('/v1/fine_tuning/') || (path === '/v1/files' && /^fine-tune\r?$/m.test(body.toString()));
  }

  /** What the model is called that job number `index` makes. */
  modelOf(index: number): string {
    return `ft:${this.jobs[index].asked.model}:${index + 1}`;
  }

  handle(options: { request: IncomingMessage; response: ServerResponse; body: Buffer }): void {
    const { request, response, body } = options;
    const path = (request.url ?? '').replace(/^\/v1\//, '').replace(/\?.*$/, '');
    const send = (value: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const job = this.jobs.find(({ id }) => path === `fine_tuning/jobs/${id}`);
    if (path === 'files') send(this.upload(body));
    else if (job) send(this.poll(job));
    else if (path !== 'fine_tuning/jobs') send({ error: { message: `nothing at ${request.method} ${path}` } }, 404);
    else if (request.method === 'GET')
      send({ object: 'list', data: this.jobs.map((each) => this.describe(each, 'running')), has_more: false });
    else if (this.refusal !== null) send({ error: { message: this.refusal.message } }, this.refusal.status);
    else {
      const created = this.create(JSON.parse(body.toString()));
      // The job exists, but its client never hears of it.
      if (this.lostCreations-- > 0) response.destroy();
      else send(created);
    }
  }

  private upload(body: Buffer): unknown {
    const id = `file-${this.files.size + 1}`;
    const lines = body.toString().split(/\r?\n/);
    // Nothing else in a multipart body begins with a brace.
    this.files.set(id, lines.filter((line) => line.startsWith('{')).join('\n'));
    return { id, object: 'file', purpose: 'fine-tune' };
  }

  private create(body: unknown): unknown {
    const job: Job = { id: `ftjob-${this.jobs.length + 1}`, asked: createSchema.parse(body), polls: 0 };
    this.jobs.push(job);
    return this.describe(job, 'validating_files');
  }

  private poll(job: Job): unknown {
    job.polls++;
    return this.describe(job, job.polls < this.pollsUntilDone ? 'running' : this.finalStatus);
  }

  private describe(job: Job, status: string): unknown {
    const { model, training_file } = job.asked;
    return {
      id: job.id,
      object: 'fine_tuning.job',
      model,
      training_file,
      status,
      fine_tuned_model: status === 'succeeded' ? this.modelOf(this.jobs.indexOf(job)) : null,
      error: status === 'failed' ? { code: 'scripted', message: this.failure, param: null } : null,
    };
  }
}
