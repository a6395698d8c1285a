import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { InputError } from '../../src/errors.ts';
import { present } from '../../src/present.ts';
import { listenError, namesThisMachine } from '../serve/access.ts';
import { learnEvery } from './choose.ts';
import { labelPage, scoreCurve } from './label-page.ts';
import type { Labelling, Learnt } from './labelling.ts';
import { type Answer, labelSession } from './session.ts';

const mostBodyBytes = 64 * 1024;

/**
 * Serves the page on this machine.
 * @param options.learn trains elsewhere, so that the page does not wait
 * @param options.isRandom draws every thread at random
 * @throws InputError for a used port
 */
export async function serveLabels(
  { file, order, threads, task }: Labelling,
  options: {
    annotator: string;
    port: number;
    isRandom: boolean;
    learn: () => Promise<Learnt | null>;
    now: () => Date;
    onNote: (line: string) => void;
  },
) {
  const { annotator, port, isRandom, now, onNote } = options;
  const session = labelSession({ file, order, annotator, now });
  const token = randomBytes(16).toString('hex');
  const history: Learnt[] = [];
  let curve: Awaited<ReturnType<typeof scoreCurve>> = null;
  let isLearning = false;
  let learntFrom = 0;
  let isStopped = false;

  const learnWhenDue = async (): Promise<void> => {
    if (isLearning) return;
    isLearning = true;
    try {
      const labels = [...file.answers().classOf.values()].filter((label) => label !== null).length;
      if (labels - learntFrom >= learnEvery) {
        learntFrom = labels;
        const learnt = present([await options.learn()]);
        curve = await scoreCurve([...history, ...learnt]);
        history.push(...learnt);
      }
    } catch (error) {
      if (!isStopped) onNote(`the detector did not learn: ${error instanceof Error ? error.message : error}`);
    }
    isLearning = false;
  };

  const page = (nonce: string): string => {
    void learnWhenDue();
    const shown = session.current(isRandom ? [] : (history.at(-1)?.ranking ?? []));
    const answers = file.answers();
    const open = order.filter((id) => !answers.classOf.has(id)).length;
    const thread = threads.get(shown?.thread ?? '') ?? null;
    return labelPage({ task, annotator, thread, answers, open, history, isLearning, curve, nonce });
  };

  const take = (form: URLSearchParams): void => {
    const value = form.get('answer') ?? '';
    const answer = answerOf(value, task.labels);
    if (value === 'undo') session.undo();
    else if (answer !== null) session.answer(decodeURIComponent(form.get('thread') ?? ''), answer);
  };

  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      const why = error instanceof InputError ? error.message : 'the page could not be made';
      onNote(error instanceof Error ? error.message : String(error));
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' });
      response.end(`${why}\n`);
    });
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { host, origin } = request.headers;
    const refuse = (status: number, why: string) =>
      void response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${why}\n`);
    if (!namesThisMachine(host)) return refuse(403, 'this page is for browsers on its own machine');
    if (origin !== undefined && origin !== `http://${host}`)
      return refuse(403, 'this page takes answers from itself alone');
    if (request.url !== `/${token}/`)
      return refuse(404, 'open the address that the program printed, with all of its letters and digits');
    if (request.method === 'POST') {
      const form = await formOf(request);
      if (form === null) return refuse(413, 'the answer is too long');
      take(form);
      response.writeHead(303, { location: `/${token}/` }).end();
      return;
    }
    if (request.method !== 'GET') return refuse(405, 'the page takes GET and POST');
    const nonce = randomBytes(16).toString('base64');
    response
      .writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'nonce-${nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      })
      .end(page(nonce));
  };

  await once(server.listen(port, '127.0.0.1'), 'listening').catch((error: unknown) => {
    throw listenError(error, { host: '127.0.0.1', port });
  });
  void learnWhenDue();
  const bound = server.address();
  return {
    /** The URL with the token of the page. */
    address: `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : port}/${token}/`,
    async stop() {
      isStopped = true;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answerOf(value: string, classes: readonly string[]): Answer | null {
  if (value === 'cannot-tell' || value === 'skip') return { kind: value };
  const place = classes.findIndex((_, index) => value === `class-${index + 1}`);
  return place < 0 ? null : { kind: 'label', class: classes[place] };
}

/** The fields of a form; null if it is too long. */
async function formOf(request: IncomingMessage): Promise<URLSearchParams | null> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > mostBodyBytes) return null;
  }
  return new URLSearchParams(body);
}
