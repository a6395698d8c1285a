import { describe, expect, it } from 'vitest';
import {
  cutoffOf,
  cutoffSchema,
  htmlParagraphs,
  htmlText,
  retrieveChunks,
  splitIntoChunks,
} from '../../../experts/retrieval/evidence.ts';
import { hierarchicalSalience, localContext, salientEntities } from '../../../experts/retrieval/keywords.ts';
import { cosine } from '../../../experts/retrieval/text-similarity.ts';
import { splitSentences } from '../../../experts/retrieval/text-spans.ts';
import { sentenceQuery, webQuery } from '../../../experts/retrieval/web-search.ts';
import { disambiguate } from '../../../experts/retrieval/wikipedia.ts';
import { wordEncoder } from './toy-encoder.ts';

const texts = (text: string) => splitSentences(text).map((sentence) => sentence.text);

describe('sentences', () => {
  it('end at stops, not at initials and titles, and at line breaks', () => {
    expect(texts('Mr. J. Foxx of the U.S. Navy wed. "Really?" she asked! Yes… He left')).toEqual([
      'Mr. J. Foxx of the U.S. Navy wed.',
      '"Really?"',
      'she asked!',
      'Yes…',
      'He left',
    ]);
    expect(texts('A headline\nIt cost 3.5 dollars.\n\n')).toEqual(['A headline', 'It cost 3.5 dollars.']);
    expect(texts('他说：“来了。”大家都笑。好！')).toEqual(['他说：“来了。”', '大家都笑。', '好！']);
    expect(texts('   ')).toEqual([]);
  });

  it('know their places', () => {
    const text = '  One.  Two!\nThree';
    for (const { text: own, start, end } of splitSentences(text)) expect(text.slice(start, end)).toBe(own);
  });
});

describe('hierarchical salience (Eq. 3)', () => {
  it('is the product of two cosines', () => {
    // cos((1,0), (1,1)) = 1/√2; cos((1,1), (1,2)) = 3/√10
    const vectors = { entity: [1, 0], context: [1, 1], text: [1, 2] };
    expect(hierarchicalSalience(vectors)).toBeCloseTo(3 / Math.sqrt(20), 9);
    expect(cosine([0, 0], [1, 1])).toBe(0);
  });

  it('reads a sentence with its neighbours as the context', () => {
    const text = 'One a. Two b. Three c. Four d.';
    const at = (word: string) => ({ start: text.indexOf(word), end: text.indexOf(word) + word.length });
    expect(localContext({ text, entity: at('One') })).toBe('One a. Two b.');
    expect(localContext({ text, entity: at('Three') })).toBe('Two b. Three c. Four d.');
    expect(localContext({ text, entity: { start: 7, end: 20 } })).toBe(text);
  });

  it('keeps each spelling once, at its best place', async () => {
    const text = 'Foxx foxx wed. News. Rain. Rain. Rain FOXX.';
    const entity = (start: number, end: number) =>
      ({ start, end, text: text.slice(start, end), type: 'PER', confidence: 1 }) as const;
    const found = await salientEntities({
      text,
      entities: [entity(38, 42), entity(0, 4)],
      encoder: wordEncoder('foxx', 'rain'),
    });
    // Counts (foxx, rain): the text (3, 3), the last context (1, 2), the first (2, 0).
    // Last: 1/√5 · 3/√10 = 0.424; first: 1 · 1/√2 = 0.707.
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ text: 'Foxx', context: 'Foxx foxx wed. News.' });
    expect(found[0].salience).toBeCloseTo(Math.SQRT1_2, 6);
  });
});

describe('chunks (Eq. 9)', () => {
  const source = { title: 'T', url: 'http://a.example', date: null };

  it('hold whole sentences where they fit, and cut long ones between words', () => {
    const text = `One two. Three four. ${'long '.repeat(20)}end.`;
    const chunks = splitIntoChunks([{ ...source, text }], { maxCharacters: 40 }).map((chunk) => chunk.text);
    expect(chunks[0]).toBe('One two. Three four.');
    expect(chunks.every((chunk) => chunk.length <= 40)).toBe(true);
    expect(chunks.join(' ')).toBe(text);
    const han = splitIntoChunks([{ ...source, text: '字'.repeat(90) }], { maxCharacters: 40 });
    expect(han.map((chunk) => chunk.text.length)).toEqual([40, 40, 10]);
  });

  it('are taken from the threshold on, the likest first, at most k', async () => {
    const encoder = wordEncoder('moon', 'cheese', 'rock');
    const chunks = ['rock', 'moon rock', 'moon cheese moon cheese', 'none'].map((text) => ({
      text,
      source: { ...source, text },
    }));
    const retrieve = (more: { threshold: number; topK: number }) =>
      retrieveChunks({ claim: 'The moon is cheese', chunks, encoder, ...more });
    const found = await retrieve({ threshold: 0.1, topK: 5 });
    expect(found.map(({ text }) => text)).toEqual(['moon cheese moon cheese', 'moon rock']);
    expect(found.map(({ similarity }) => similarity)).toEqual([expect.closeTo(1, 6), expect.closeTo(0.5, 6)]);
    expect(await retrieve({ threshold: 0.5 - 1e-9, topK: 5 })).toHaveLength(2);
    expect(await retrieve({ threshold: 0.51, topK: 5 })).toHaveLength(1);
    expect(await retrieve({ threshold: -1, topK: 3 })).toHaveLength(3);
  });
});

describe('disambiguation (Eq. 7)', () => {
  it('takes the sense that leaves the context most as it was', async () => {
    const encoder = wordEncoder('orchard', 'fruit', 'computer', 'company');
    const senses = ['company that sells computer and computer', 'fruit of an orchard'];
    const choose = (context: string) => disambiguate({ entity: 'Apple', context, senses, encoder });
    expect(await choose('The Apple fell in the orchard, a fine fruit.')).toBe(1);
    expect(await choose('The Apple company sold a computer.')).toBe(0);
  });

  it('takes what the search found first when nothing tells them apart', async () => {
    const encoder = wordEncoder('x');
    expect(await disambiguate({ entity: 'A', context: 'A', senses: ['b', 'c'], encoder })).toBe(0);
    // A description may hold what a replacement pattern would read as a command.
    expect(await disambiguate({ entity: 'A', context: 'A x', senses: ['$& y', 'x x'], encoder })).toBe(0);
  });
});

describe('the web query (Eq. 6)', () => {
  it('asks for all keywords as phrases and leaves domains out', () => {
    const query = { keywords: ['Jamie "Foxx"', 'Katie  Holmes'], excludedDomains: ['snopes.com'] };
    expect(webQuery({ ...query, composition: 'and' })).toBe('"Jamie Foxx" AND "Katie Holmes" -site:snopes.com');
    expect(webQuery({ ...query, composition: 'or' })).toBe('"Jamie Foxx" OR "Katie Holmes" -site:snopes.com');
    expect(webQuery({ ...query, composition: 'and', keywords: [] })).toBe('');
  });

  it('lets no claim choose its own evidence', () => {
    const planted = [
      'Foxx site:evil.example',
      'Foxx s\u200bite:evil.example',
      'Foxx \uff53\uff49\uff54\uff45\uff1aevil.example',
      'Foxx inurl :evil',
      'Foxx -snopes +evil !g',
      'Foxx" OR site:evil.example OR "',
      'Foxx (evil | other) OR NOT true',
      'Foxx ~evil evil^9 ev*l intitle:"evil"',
    ];
    for (const text of planted) {
      const keywords = webQuery({ keywords: [text], composition: 'and', excludedDomains: [] });
      const sentence = sentenceQuery({ sentence: text, excludedDomains: [] });
      expect(keywords).toMatch(/^"[^"]+"$/);
      for (const query of [keywords.slice(1, -1), sentence]) {
        expect(query).toMatch(/^Foxx/);
        expect(query).not.toMatch(/[:"()|~^*]|(?:^|\s)[-+!]|\b(?:AND|OR|NOT)\b|\u200b/);
      }
    }
  });

  it('keeps to the limits: the least important keywords go, and domains that do not fit', () => {
    const [alpha, beta] = ['a', 'b'].map((letter) => letter.repeat(letter === 'a' ? 190 : 191));
    const excludedDomains = ['a-very-long-domain.example', 'b.io'];
    const full = { composition: 'and' as const, excludedDomains };
    // Two phrases of 192 and 193 characters and " AND " leave room for ten, one less than the shorter exclusion needs.
    expect(webQuery({ ...full, keywords: [alpha, beta, 'gamma'] })).toBe(`"${alpha}" AND "${beta}"`);
    expect(webQuery({ ...full, keywords: [alpha, beta.slice(1)] })).toBe(
      `"${alpha}" AND "${beta.slice(1)}" -site:b.io`,
    );
    const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
    const quoted = names.slice(0, 25).map((name) => `"${name}"`);
    expect(webQuery({ ...full, keywords: names })).toBe(`${quoted.join(' AND ')} -site:a-very-long-domain.example`);
    const words = Array.from({ length: 60 }, (_, index) => `w${index}`);
    expect(sentenceQuery({ sentence: `"${words.join(' ')}"`, excludedDomains })).toBe(words.slice(0, 50).join(' '));
  });

  it('cuts a name that is longer than a query', () => {
    const cut = (title: string) =>
      webQuery({ keywords: [title, 'Reykjavik'], composition: 'and', excludedDomains: ['bcdefgh.io'] });
    const headline = Array.from({ length: 20 }, () => 'Capitalised-Words-Of-It');
    expect(cut(headline.join(' '))).toBe(`"${headline.slice(0, 16).join(' ')}"`);
    expect(cut('Up '.repeat(60))).toBe(`"${'Up '.repeat(50).trim()}"`);
  });

  it('asks for a sentence without links and without what would be read as a command', () => {
    const sentence = 'Obama NOT born in U.S. - see OR ask https://t.co/abc -really co-author';
    expect(sentenceQuery({ sentence, excludedDomains: [] })).toBe('Obama not born in U.S. see or ask really co-author');
    expect(sentenceQuery({ sentence: 'https://t.co/abc', excludedDomains: ['b.io'] })).toBe('');
  });
});

describe('HTML', () => {
  it('becomes text, tables and notes left out', () => {
    expect(htmlText('<strong>A &amp; B</strong>&#39;s&nbsp;<i>x</i> &unknown;')).toBe("A & B's x &unknown;");
    const page =
      '<div><style>p{}</style><table><tr><td><table><tr><td><p>inner</p></td></tr></table><p>box</p></td></tr></table>' +
      '<p class="lead"><b>Foxx</b> is an actor.<sup class="reference">[1]</sup></p><p> </p><p>Second.</p></div>';
    expect(htmlParagraphs(page)).toEqual(['Foxx is an actor.', 'Second.']);
  });
});

describe('the cut-off', () => {
  const post = { id: 'p', text: 'x', author: null, parent: null, stance: null };
  const of = (time: string | null, options = {}) => cutoffOf({ ...post, time }, cutoffSchema.parse(options));

  it('is the day before the claim, in UTC, unless given', () => {
    expect(of('2018-03-01T00:30:00+02:00')).toBe('2018-02-27');
    expect(of('2018-03-01T10:00:00Z')).toBe('2018-02-28');
    expect(of('2018-03-01T10:00:00Z', { daysBeforeClaim: 0 })).toBe('2018-03-01');
    expect(of(null, { date: '2017-01-02' })).toBe('2017-01-02');
  });

  it('is never guessed for a claim without a time', () => {
    expect(() => of(null)).toThrow('post p has no time, so it is unknown which evidence is older than it');
    expect(of(null, { undatedClaims: 'no-retrieval' })).toBe('none');
  });
});
