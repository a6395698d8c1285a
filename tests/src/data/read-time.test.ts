import { describe, expect, it } from 'vitest';
import { readTime, snowflakeTime } from '../../../src/data/importers/read-time.ts';
import { timeProblem } from '../../../src/data/iso-time.ts';

const read = (text: string, dateOrder: 'dmy' | 'mdy' | null = null) => readTime(text, { dateOrder });
const ten = '2024-03-05T10:00:00.000Z';

describe('a time of a foreign file', () => {
  it.each([
    ['ISO 8601', '2024-03-05T11:00:00+01:00'],
    ['as PostgreSQL writes it', '2024-03-05 10:00:00+00'],
    ['with a fraction and half an hour of offset', '2024-03-05 04:30:00.000000-05:30'],
    ['with a comma before the fraction', '2024-03-05T10:00:00,000Z'],
    ['basic ISO 8601', '20240305T100000Z'],
    ['basic ISO 8601 with a day in extended form', '2024-03-05T1000Z'],
    ['hours alone', '2024-03-05T10Z'],
    ['with an offset of hours and a real minus', '2024-03-05 05:00 \u22125'],
    ['as JavaScript prints it', 'Tue Mar 05 2024 11:00:00 GMT+0100 (Central European Standard Time)'],
    ['as Java prints it', '2024-03-05T11:00+01:00[Europe/Berlin]'],
    ['as Go prints it', '2024-03-05 10:00:00 +0000 UTC'],
    ['as git prints it', 'Tue Mar 5 11:00:00 2024 +0100'],
    ['as mails have it', 'Tue, 05 Mar 2024 10:00:00 +0000'],
    ['as web servers have it', '05/Mar/2024:10:00:00 +0000'],
    ['as Twitter had it', 'Tue Mar 05 10:00:00 +0000 2024'],
    ['Unix seconds', '1709632800'],
    ['Unix milliseconds as pandas leaves them', '1709632800000.0'],
    ['Unix nanoseconds', '1709632800000000000'],
  ])('is read: %s', (_, text) => {
    expect(read(text)).toEqual({ time: ten, hasZone: true });
  });

  it.each([
    ['slashes with the year first', '2024/03/05 10:00:00'],
    ['dots with the year first', '2024.3.5 10:00'],
    ['one digit', '2024-3-5 10:00'],
    ['a day and a time as one number', '20240305100000'],
    ['the same without seconds', '202403051000'],
    ['the same with milliseconds', '20240305100000000'],
    ['basic ISO 8601', '20240305 1000'],
    ['the name of the month', 'March 5, 2024 at 10:00 AM'],
    ['the short name of the month', '5-Mar-2024 10:00'],
    ['a thin space before pm', '2024/03/05 10:00:00\u202fAM'],
  ])('without a zone is taken for UTC: %s', (_, text) => {
    expect(read(text)).toEqual({ time: ten, hasZone: false });
  });

  it.each(['20240305', '20240305.0', '2024-03-05', '2024/3/5', '5 March 2024'])('may be a day: %s', (text) => {
    expect(read(text)).toEqual({ time: '2024-03-05T00:00:00.000Z', hasZone: false });
  });

  it.each([
    ['2020', 'is a year alone'],
    ['2020.0', 'is a year alone'],
    ['202403', 'is a month alone'],
    ['2024030112', 'could be the hour 12 of 2024-03-01 or Unix seconds of the year 2034'],
    ['20240230', 'is on a day that its month does not have'],
    ['20241301', 'is on a day that its month does not have'],
    ['20240230120000', 'is on a day that its month does not have'],
    ['31122024', 'could be 31 December 2024; put the year first'],
    ['03042024', 'could be 3 April 2024 or 4 March 2024; put the year first, with four digits'],
    ['99999999999999', 'would be of the year 5138 as a Unix time'],
    ['Sat, 31 Feb 2014 20:33:06 +0000', 'is on a day that its month does not have'],
    ['Sat Feb 31 20:33:06 +0000 2014', 'is on a day that its month does not have'],
    ['2023-02-29T00:00:00Z', 'is on a day that its month does not have'],
    ['2024/2/30', 'is on a day that its month does not have'],
    ['31.4.2024', 'is on a day that its month does not have'],
    ['2024-03-05 25:00', 'must be a time: 25:00:0 is on no clock'],
    ['2024-03-05T10:00:60Z', 'must be a time: 10:00:60 is on no clock'],
    ['2024-03-05 13:00 PM', 'has the hour 13 with am or pm'],
    ['2024-03-05 10:00+25:00', 'has the offset +25:00, which no zone has'],
    ['2024-03-05 10:00 CET', 'names the zone CET, which may be several'],
    ['05-MAR-24', 'has a year of two digits, 24'],
    ['5 Foo 2024', 'names no month'],
    ['5 marraskuu 2024', 'must be a time'],
    ['3/4/24', 'could be 3 April 2024 or 4 March 2024 or 24 April 2003; put the year first, with four digits, or say'],
    ['13/4/24', 'could be 13 April 2024 or 24 April 2013'],
    ['3.4.2024', 'could be 3 April 2024 or 4 March 2024'],
    ['yesterday', 'must be a time: ISO 8601 such as'],
    ['2024-W10-2', 'must be a time: ISO 8601 such as'],
    ['10:00', 'must be a time: ISO 8601 such as'],
  ])('is refused: %s', (text, problem) => {
    expect(read(text)).toContain(problem);
  });

  it('has the order of its numbers where the user names it, or there is no doubt', () => {
    expect(read('3/4/24', 'dmy')).toMatchObject({ time: '2024-04-03T00:00:00.000Z' });
    expect(read('3/4/24', 'mdy')).toMatchObject({ time: '2024-03-04T00:00:00.000Z' });
    expect(read('3-4-2024 10:00', 'dmy')).toMatchObject({ time: '2024-04-03T10:00:00.000Z' });
    for (const text of ['31/12/2024', '12/31/2024', '31.12.2024', '12-31-2024'])
      expect(read(text)).toMatchObject({ time: '2024-12-31T00:00:00.000Z' });
    expect(read('5/5/2024')).toMatchObject({ time: '2024-05-05T00:00:00.000Z' });
  });

  it('is no year among seconds since a beginning', () => {
    expect(readTime('2020', { dateOrder: null, areOffsets: true })).toEqual({
      time: '1970-01-01T00:33:40.000Z',
      hasZone: true,
    });
  });
});

it('reads no impossible day of a tweet', () => {
  expect(readTime('Sat Aug 09 22:33:06 +0000 2014')).toEqual({ time: '2014-08-09T22:33:06.000Z', hasZone: true });
  expect(readTime('Sat Feb 31 22:33:06 +0000 2014')).toBe('is on a day that its month does not have');
  expect(readTime('soon')).toContain('must be a time');
});

it('reads the time in a tweet id', () => {
  expect(snowflakeTime('498248415223246848')).toBe('2014-08-09T23:24:13.854Z');
});

it.each(['20', '29700859246', '3xqilx', '498248415223246848-1', ''])('sees no time in %j', (id) => {
  expect(snowflakeTime(id)).toBeNull();
});

describe('a time of a thread file', () => {
  it.each(['2024-03-05T10:00:00Z', '2024-02-29T23:59:59.25+05:30', '2024-03-05T10:00:00.123456-00:00'])(
    '%s',
    (time) => {
      expect(timeProblem(time, 'is none')).toBeNull();
    },
  );

  it.each<[unknown, string]>([
    ['2025-01-01T00:00:00', 'names no time zone: write Z behind it for UTC, or an offset such as +02:00'],
    ['2025-01-01 00:00', 'names no time zone'],
    ['2025-01-01T00:00:00.5', 'names no time zone'],
    ['2025-01-01', 'names no time zone'],
    ['2023-02-29T00:00:00Z', 'is on a day that its month does not have'],
    ['2024-13-01T00:00:00Z', 'is on a day that its month does not have'],
    ['2024-01-01T24:00:00Z', 'is none'],
    ['2024-01-01T00:00Z', 'is none'],
    [1_700_000_000, 'is none'],
  ])('%s is refused', (time, problem) => {
    expect(timeProblem(time, 'is none')).toContain(problem);
  });
});
