import { expect, it } from 'vitest';
import { csvText } from '../../src/csv-text.ts';

it('quotes what would end a field or a row, and doubles quotes', () => {
  expect(
    csvText([
      ['id', 'text'],
      ['1', 'a, b'],
      ['2', 'she said "no"'],
      ['3', 'two\nlines'],
      ['4', ''],
    ]),
  ).toBe('id,text\n1,"a, b"\n2,"she said ""no"""\n3,"two\nlines"\n4,\n');
});
