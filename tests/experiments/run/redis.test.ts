import { expect, it } from 'vitest';
import { redisPlace, redisTrouble } from '../../../experiments/run/redis.ts';

it.each([
  [Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }), 'no server listens there'],
  [Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'no server listens there'],
  [new Error("Stream isn't writeable and enableOfflineQueue options is false"), 'the connection is lost'],
  [new Error('Connection is closed.'), 'the connection is lost'],
  [new Error('Command timed out'), 'it has not answered in time'],
  [new Error('NOAUTH Authentication required.'), 'it wants another password; set EARSHOT_REDIS_PASSWORD'],
  [new Error("OOM command not allowed when used memory > 'maxmemory'."), 'its memory is full'],
  [new Error("READONLY You can't write against a read only replica."), 'it is a replica'],
  [new Error('ERR something new'), 'it says "ERR something new"'],
])('says in our words what %s means', (error, said) => {
  expect(redisTrouble(error)).toContain(said);
});

it('shows no password of an address, valid or not', () => {
  expect(redisPlace('rediss://me:secret@head:6380/2', '--queue')).toBe('rediss://head:6380');
  for (const wrong of ['http://me:secret@head', '//me:secret@head']) {
    const refused = () => redisPlace(wrong, '--sessions');
    expect(refused).toThrow('…@head"; give memory, or an address');
    expect(refused).not.toThrow('secret');
  }
});
