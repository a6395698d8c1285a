import fc from 'fast-check';
import { expect, it } from 'vitest';
import { foldedName } from '../../../src/data/folded-name.ts';

it.each([
  ['composes accents', 'cafe\u0301', 'café'],
  ['composes accents behind what cannot be seen', 'cafe\u200b\u0301', 'café'],
  ['leaves out a space of no width', 'spam\u200b', 'spam'],
  ['leaves out a byte order mark', '\ufeffspam', 'spam'],
  ['leaves out a soft hyphen and a mark of direction', 'spa\u00adm\u200e', 'spam'],
  ['leaves out control characters', 'a\u0000b\u001b', 'ab'],
  ['leaves out joiners that join nothing', 'спа\u200dм\u200c', 'спам'],
  ['makes one of spaces of all kinds', ' not\u00a0\u2009 spam\r\n', 'not spam'],
  ['makes a space of a tab and the line end of a mainframe', 'a\tb\u0085c', 'a b c'],
  ['makes nothing of what cannot be seen', '\u3164\u200b ', ''],
  ['keeps case and width', 'Spam ｓ', 'Spam ｓ'],
  [
    'keeps joined emoji, flags and their colour',
    '👩\u200d🚒 🏴\u{e0067}\u{e0062}\u{e007f} ❤\ufe0f',
    '👩\u200d🚒 🏴\u{e0067}\u{e0062}\u{e007f} ❤\ufe0f',
  ],
  ['keeps joiners where letters join', 'می\u200cخواهم क्\u200dष', 'می\u200cخواهم क्\u200dष'],
])('%s', (_, text, folded) => {
  expect(foldedName(text)).toBe(folded);
});

it('changes nothing that it has folded, and no printable ASCII', () => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(text, (name) => foldedName(foldedName(name)) === foldedName(name)),
    { seed: 31, numRuns: 2000 },
  );
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii' }), (name) => foldedName(name) === name.trim().replace(/ +/g, ' ')),
    { seed: 32, numRuns: 500 },
  );
});
