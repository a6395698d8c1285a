import type { Redis } from 'ioredis';
import { connectRedis, redisPlace } from '../../run/redis.ts';

/** All keys in Redis begin with this. */
export const keyPrefix = 'earshot';
export const queueName = 'trials';

/**
 * Connects to the Redis of a queue. Commands wait while a connection that has broken is made anew.
 * @param onNote told when the connection breaks and when it is back
 * @throws as `connectRedis` does
 */
export async function connectQueue(address: string, { onNote }: { onNote: (line: string) => void }): Promise<Redis> {
  // BullMQ asks for it: a command must wait for a connection, however long that takes.
  const redis = await connectRedis(address, { option: '--queue', maxRetriesPerRequest: null });
  const place = redisPlace(address, '--queue');
  let isLost = false;
  // Not `close`, which comes with the end of the command, too.
  redis.on('reconnecting', () => {
    if (!isLost) onNote(`the queue at ${place} does not answer; waiting for it`);
    isLost = true;
  });
  redis.on('ready', () => {
    if (isLost) onNote(`the queue at ${place} answers again`);
    isLost = false;
  });
  return redis;
}
