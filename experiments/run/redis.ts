import { Redis, type RedisOptions } from 'ioredis';
import { InputError, ProviderError } from '../../src/errors.ts';

/**
 * Connects to the Redis that an option of a command names. A connection that breaks later is made anew.
 * @throws InputError for an invalid address, ProviderError without a server
 */
export async function connectRedis(
  address: string,
  { option, password, ...settings }: RedisOptions & { option: '--sessions' | '--queue' },
): Promise<Redis> {
  const place = redisPlace(address, option);
  const redis = new Redis(address, {
    ...settings,
    ...(password !== undefined && new URL(address).password === '' && { password }),
    lazyConnect: true,
  });
  // Callers hear of failures; without a listener, the client would print them.
  let reason: unknown;
  redis.on('error', (error) => {
    reason = error;
  });
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    redis.disconnect();
    throw new ProviderError(
      `Redis at ${place} cannot be used: ${redisTrouble(reason ?? error)}; start it, or correct ${option}`,
      { cause: error },
    );
  }
  return redis;
}

/** An address without its password. @throws InputError for one that is none */
export function redisPlace(address: string, option: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url !== null && ['redis:', 'rediss:'].includes(url.protocol)) return `${url.protocol}//${url.host}`;
  const shown = JSON.stringify(address.replace(/\/\/.*@/, '//…@'));
  throw new InputError(
    `${option} is ${shown}; give ${option === '--sessions' ? 'memory, or ' : ''}an address such as redis://localhost:6379, or rediss:// with TLS`,
  );
}

/** Messages and error codes of Redis and its client, with advice for the operator. */
const meanings: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, 'no server listens there'],
  [/ENOTFOUND|EAI_AGAIN/, 'there is no machine of that name'],
  [/ETIMEDOUT|EHOSTUNREACH|Command timed out/, 'it has not answered in time'],
  [/ECONNRESET|EPIPE|Connection is closed|Stream isn't writeable/, 'the connection is lost, and is being made again'],
  [/^(NOAUTH|WRONGPASS|ERR AUTH)/, 'it wants another password; set EARSHOT_REDIS_PASSWORD'],
  [/^NOPERM/, 'its user may not do this; let it run scripts on keys that begin with earshot:'],
  [/^OOM/, 'its memory is full; give it more, or fewer threads with --max-threads'],
  [/^READONLY/, 'it is a replica, which takes no writes; name the primary'],
  [/^LOADING/, 'it is still reading its data'],
  [/^MISCONF/, 'it cannot write to its disk, and takes no writes until it can'],
  [/^(MOVED|CROSSSLOT|CLUSTERDOWN)/, 'it is a cluster, which cannot keep threads; name one server'],
  [/^WRONGTYPE/, 'another program keeps something under keys that begin with earshot:; use another database'],
];

/** The advice for an error of Redis, or else the message itself. */
export function redisTrouble(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const meaning = meanings.find(([pattern]) => pattern.test(message) || pattern.test(code));
  return meaning?.[1] ?? `it says ${JSON.stringify(message)}`;
}
