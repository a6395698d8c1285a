import { once } from 'node:events';
import { createServer } from 'node:http';
import { loadThreads } from '../src/data/thread-file.ts';

/** Pages on top of a result. */
const mostResults = 20;

/**
 * A web search over the claims of a threads file that answers as Brave's does, and a wiki without articles: the sources of `zofia` on a
 * machine without the web. Pages are ranked by the words that they share with the query, rare ones counting more (the sum of
 * their inverse document frequencies). The words of a query that exclude a site or join others are left out.
 */
export async function searchInFile(path: string, { port }: { port: number }) {
  const pages = (await loadThreads(path)).map(({ id, posts }) => ({
    id,
    text: posts[0].text,
    words: new Set(wordsOf(posts[0].text)),
  }));
  const counts = new Map<string, number>();
  for (const { words } of pages) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const matches = (query: string) => {
    const words = wordsOf(query.replaceAll(/-site:\S+|\b(?:AND|OR|NOT)\b/g, ' '));
    const weights = words.map((word) => [word, Math.log(pages.length / (counts.get(word) ?? 1))] as const);
    const scored = pages.map((page) => ({
      page,
      score: weights.reduce((sum, [word, weight]) => sum + (page.words.has(word) ? weight : 0), 0),
    }));
    return scored
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, mostResults);
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://here');
    const results = pathname.endsWith('/web/search') ? matches(searchParams.get('q') ?? '') : [];
    const answer = results.map(({ page: { id, text } }) => ({
      title: text.slice(0, 80),
      url: `https://pages.example/${id}`,
      description: text,
      page_age: '2000-01-01',
    }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ batchcomplete: true, web: { results: answer } }));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

function wordsOf(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))];
}
