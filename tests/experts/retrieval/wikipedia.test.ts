import { describe, expect, it } from 'vitest';
import { retrySchema } from '../../../experts/llm/sending/retry.ts';
import { createWikipedia, wikipediaSchema } from '../../../experts/retrieval/wikipedia.ts';
import { Random } from '../../../src/tensor/random.ts';
import { askAnew } from './ask-anew.ts';
import { startService, wikipediaAnswer } from './fake-service.ts';
import { wordEncoder } from './toy-encoder.ts';

const articles = [
  { title: 'Apple (disambiguation)', extract: 'Apple may refer to:', isDisambiguation: true },
  {
    title: 'Apple Inc.',
    extract: 'Apple is a computer company. It is large. It is American. It was founded long ago.',
    revisions: [
      {
        day: '2016-05-01',
        html: '<table><tr><td><p>Box</p></td></tr></table><p>A computer company. Old two. Old three. Four.</p>',
      },
      { day: '2019-05-01', html: '<p>New.</p>' },
    ],
  },
  {
    title: 'Apple',
    extract: 'An apple is a fruit of an orchard.',
    revisions: [{ day: '2018-02-28', html: '<p>A fruit.</p>' }],
  },
  { title: 'Late apple', extract: 'Late.', revisions: [{ day: '2020-01-01', html: '<p>Late.</p>' }] },
];

async function setUp(more: object = {}, answer: Parameters<typeof startService>[0] = wikipediaAnswer(articles)) {
  const service = await startService(answer);
  const wikipedia = createWikipedia({
    options: wikipediaSchema.parse({ baseURL: `${service.origin}/w/api.php`, ...more }),
    encoder: wordEncoder('computer', 'company', 'fruit', 'orchard'),
    context: {
      retry: retrySchema.parse({ maxAttempts: 2, baseMs: 1 }),
      random: Random.seeded({ seed: 1, purpose: 'jitter' }),
      signal: null,
      env: {},
    },
  });
  const lookUp = (context: string, cutoff = '2018-02-28', keyword = 'Apple') =>
    wikipedia({ keyword, context, cutoff, askShared: askAnew });
  return { service, lookUp };
}

describe('Wikipedia', () => {
  it('is searched without operators, and not at all for a name of signs alone', async () => {
    const { service, lookUp } = await setUp();
    await lookUp('The Apple company', '2018-02-28', 'Apple insource:/evil/ -fruit OR intitle:"evil"');
    expect(service.requests[0].query.gsrsearch).toBe('Apple insource /evil/ fruit or intitle evil');
    const { length } = service.requests;
    expect(await lookUp('The Apple company', '2018-02-28', '"~*"')).toBeNull();
    expect(service.requests).toHaveLength(length);
  });

  it('finds the sense that fits, as it stood on the last day, and takes three sentences', async () => {
    const { service, lookUp } = await setUp();
    expect(await lookUp('The Apple company sells a computer.')).toEqual({
      title: 'Apple Inc.',
      url: `${service.origin}/wiki/Apple_Inc.`,
      text: 'A computer company. Old two. Old three.',
      date: '2016-05-01',
    });
    expect(service.requests[0].query.gsrsearch).toBe('Apple');
    const looked = service.requests.slice(1).map(({ query }) => query.titles ?? query.oldid);
    expect(looked.sort()).toEqual(['0', '2', 'Apple', 'Apple Inc.', 'Late apple']);
    expect(service.requests[1].query).toMatchObject({ rvstart: '2018-02-28T23:59:59Z', rvdir: 'older', rvlimit: '1' });
    expect(service.requests[0].headers['user-agent']).toContain('Earshot');
    expect(await lookUp('An Apple from the orchard is a fruit.')).toMatchObject({ title: 'Apple', text: 'A fruit.' });
  });

  it('chooses by what the articles said on the last day, not by what they say today', async () => {
    const service = await setUp(
      {},
      wikipediaAnswer([
        {
          title: 'Foxx (actor)',
          extract: 'Foxx is married.',
          revisions: [{ day: '2016-01-01', html: '<p>Foxx sells fruit.</p>' }],
        },
        {
          title: 'Foxx (singer)',
          extract: 'Foxx sells fruit of an orchard.',
          revisions: [{ day: '2016-01-01', html: '<p>Foxx has a company and a computer.</p>' }],
        },
      ]),
    );
    const found = await service.lookUp('Foxx and the fruit.', '2018-02-28', 'Foxx');
    expect(found).toMatchObject({ title: 'Foxx (actor)', text: 'Foxx sells fruit.' });
  });

  it('finds nothing that did not exist yet', async () => {
    const { lookUp } = await setUp();
    // The article on the fruit is a day younger.
    expect(await lookUp('An Apple from the orchard is a fruit.', '2018-02-27')).toMatchObject({ title: 'Apple Inc.' });
    expect(await lookUp('An Apple from the orchard is a fruit.', '2016-04-30')).toBeNull();
    expect(await lookUp('Late apple.', '2018-02-28', 'Late apple')).toBeNull();
    expect(await lookUp('Pear.', '2018-02-28', 'Pear')).toBeNull();
  });

  it('takes as many sentences as told', async () => {
    const { lookUp } = await setUp({ sentences: 1 });
    expect(await lookUp('The Apple company sells a computer.')).toMatchObject({ text: 'A computer company.' });
  });

  it('does not take an error for the lack of an article', async () => {
    const error = { code: 'cirrussearch-backend-error', info: 'try again later' };
    const down = await setUp({}, () => ({ error }));
    await expect(down.lookUp('Apple')).rejects.toThrow(/Wikipedia .* failed after 2 attempts.*try again later/);
    const answer = wikipediaAnswer(articles);
    const parsing = (code: string) =>
      setUp({}, (request) => (request.query.action === 'parse' ? { error: { code } } : answer(request)));
    expect(await (await parsing('nosuchrevid')).lookUp('The Apple company sells a computer.')).toBeNull();
    await expect((await parsing('readonly')).lookUp('The Apple company sells a computer.')).rejects.toThrow(
      /Wikipedia .* failed/,
    );
  });

  it('searches for the beginning of what is too long to be searched for', async () => {
    const { service, lookUp } = await setUp();
    expect(await lookUp('x', '2018-02-28', 'Long '.repeat(100))).toBeNull();
    expect(service.requests[0].query.gsrsearch).toHaveLength(300);
  });
});
