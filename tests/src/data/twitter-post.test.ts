import { expect, it } from 'vitest';
import { snowflakeTime } from '../../../src/data/importers/twitter-post.ts';

it('reads the time in a tweet id', () => {
  expect(snowflakeTime('498248415223246848')).toBe('2014-08-09T23:24:13.854Z');
});

it.each(['20', '29700859246', '3xqilx', '498248415223246848-1', ''])('sees no time in %j', (id) => {
  expect(snowflakeTime(id)).toBeNull();
});
