import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ServiceRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface FakeService {
  readonly origin: string;
  readonly requests: ServiceRequest[];
}

type Answer = { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> } | object;

/** A JSON service on this machine that answers as it is told and is stopped when the test ends. */
export async function startService(answer: (request: ServiceRequest, index: number) => Answer): Promise<FakeService> {
  const requests: ServiceRequest[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://here');
    const asked = {
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    };
    requests.push(asked);
    const reply = answer(asked, requests.length - 1);
    if ('status' in reply && typeof reply.status === 'number') {
      const { status, body = '', headers = {} } = reply as { status: number; body?: string; headers?: object };
      response.writeHead(status, { ...headers }).end(body);
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** A page of web results as Brave writes it. */
export function webResults(
  ...results: { url: string; description?: string; title?: string; page_age?: string; age?: string; extra?: string[] }[]
): object {
  return {
    type: 'search',
    web: {
      type: 'search',
      results: results.map(({ extra, ...result }) => ({
        title: 'A page',
        description: 'It says something.',
        ...(extra && { extra_snippets: extra }),
        ...result,
      })),
    },
  };
}

export interface Article {
  readonly title: string;
  readonly extract: string;
  readonly isDisambiguation?: boolean;
  /** Oldest first: the day of a revision and its HTML. */
  readonly revisions?: readonly { readonly day: string; readonly html: string }[];
}

/** Answers as Wikipedia's api.php: search, the revision before a moment, the HTML of a revision. */
export function wikipediaAnswer(articles: readonly Article[]): (request: ServiceRequest) => object {
  const revisions = articles.flatMap(({ title, revisions = [] }) =>
    revisions.map((revision) => ({ title, ...revision })),
  );
  return ({ query }) => {
    if (query.generator === 'search') {
      const found = articles
        .filter(({ title, extract }) => `${title} ${extract}`.toLowerCase().includes(query.gsrsearch.toLowerCase()))
        .slice(0, Number(query.gsrlimit));
      if (found.length === 0) return { batchcomplete: true };
      const pages = found.map(({ title, isDisambiguation }, index) => ({
        pageid: index,
        title,
        index: index + 1,
        ...(isDisambiguation && { pageprops: { disambiguation: '' } }),
      }));
      // By page id, not by rank, as the real thing.
      return { batchcomplete: true, query: { pages: pages.reverse() } };
    }
    if (query.prop === 'revisions') {
      const revid = revisions.findLastIndex(
        ({ title, day }) => title === query.titles && `${day}T12:00:00Z` <= query.rvstart,
      );
      const page = { title: query.titles };
      if (revid < 0) return { query: { pages: [page] } };
      const timestamp = `${revisions[revid].day}T12:00:00Z`;
      return { query: { pages: [{ ...page, revisions: [{ revid, timestamp }] }] } };
    }
    const revision = revisions[Number(query.oldid)];
    return revision ? { parse: { title: revision.title, text: revision.html } } : { error: { code: 'nosuchrevid' } };
  };
}
