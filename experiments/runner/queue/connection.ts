import { Redis } from 'ioredis';
import { InputError, ProviderError } from '../../../src/errors.ts';

/** All keys in Redis begin with this. */
export const keyPrefix = 'earshot';
export const queueName = 'trials';

/**
 * Connects to the Redis of a queue. Once connected, a connection that breaks is made anew, and commands wait for it.
 * @param onNote told when the connection breaks and when it is back
 * @throws InputError for an address that is none; ProviderError where nothing answers
 */
export async function connectQueue(address: string, { onNote }: { onNote: (line: string) => void }): Promise<Redis> {
  const place = placeOf(address);
  // BullMQ asks for it: a command must wait for a connection, however long that takes.
  const redis = new Redis(address, { maxRetriesPerRequest: null, lazyConnect: true });
  let problem = '';
  redis.on('error', (error: Error) => {
    problem = error.message;
  });
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new ProviderError(
      `cannot reach the queue at ${place} (${problem || error}); start Redis there, or correct --queue`,
      { cause: error },
    );
  }
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

/**
 * The address without its password.
 * @throws InputError for one that is none
 */
export function placeOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !['redis:', 'rediss:'].includes(url.protocol))
    throw new InputError(
      `--queue needs an address such as redis://host:6379, or rediss:// with TLS; got ${JSON.stringify(address.replace(/\/\/.*@/, '//…@'))}`,
    );
  return `${url.protocol}//${url.host}`;
}
