import { expect, it } from 'vitest';
import { BoundedCache } from '../../../../experts/task-models/local/text-reader.ts';

it('holds no more than its size, and keeps what is in use', () => {
  const cache = new BoundedCache<number>({ maximumSize: 100, sizeOf: () => 1 });
  cache.set('used', -1);
  for (let index = 0; index < 1000; index++) {
    cache.set(`${index}`, index);
    expect(cache.get('used')).toBe(-1);
    expect(cache.count).toBeLessThanOrEqual(102);
  }
  expect(cache.get('0')).toBeUndefined();
  expect(cache.get('999')).toBe(999);
});
