import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type Audit, auditSchema } from '../../checkpoints/policy/audit.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import { connectRedis, redisTrouble } from '../run/redis.ts';
import { outcomeSchema } from '../stop-agent/decide.ts';
import { unavailable } from './http-problem.ts';
import { keptPostSchema, type ThreadLimits, type ThreadStore, tooManyThreads } from './thread-store.ts';

/*
 * Threads in Redis, for several servers and for restarts. A thread is a hash (incarnation, ended, outcome, audit) and a list of
 * posts; one sorted set holds all threads by the time they expire, another the audited ones by the time they count as quiet, and a
 * stream the audits of all servers. Each operation is one script, so that two servers that add to a thread at the same time cannot both
 * succeed.
 */

const prefix = 'earshot:';
const openThreads = `${prefix}threads`;
const auditedThreads = `${prefix}audited`;
const auditStream = `${prefix}audits`;
/** Audits that the stream keeps, and audits per page. */
const mostShared = 100_000;
const pageSize = 5000;

/** A script, sent once and then called by its hash. Times are the server's, in milliseconds. */
function script(source: string) {
  const lua = `local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function touch(idle)
  if redis.call('HEXISTS', KEYS[1], 'audit') == 1 then
    redis.call('ZADD', KEYS[4], now + idle, KEYS[1])
    idle = 2 * idle -- so that a server can close the audit
  end
  redis.call('PEXPIRE', KEYS[1], idle)
  redis.call('PEXPIRE', KEYS[2], idle)
  redis.call('ZADD', KEYS[3], now + idle, KEYS[1])
end
${source}`;
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

const scripts = {
  /** incarnation, posts known of it, idle time → incarnation, ended, outcome, audit, posts */
  read: script(`
local incarnation = redis.call('HGET', KEYS[1], 'incarnation')
if not incarnation then return false end
touch(ARGV[3])
local from = incarnation == ARGV[1] and tonumber(ARGV[2]) or 0
return {incarnation, redis.call('HGET', KEYS[1], 'ended') or '', redis.call('HGET', KEYS[1], 'outcome') or '',
  redis.call('HGET', KEYS[1], 'audit') or '', redis.call('LRANGE', KEYS[2], from, -1)}`),
  /** incarnation or '', posts known of it, idle time, most threads, new incarnation, ended, audit or '', posts … → the incarnation */
  append: script(`
local present = redis.call('HGET', KEYS[1], 'incarnation') or ''
if present ~= ARGV[1] then return '' end
if present == '' then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
  if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[4]) then return 'full' end
  redis.call('HSET', KEYS[1], 'incarnation', ARGV[5])
  if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'audit', ARGV[7]) end
  present = ARGV[5]
elseif redis.call('LLEN', KEYS[2]) ~= tonumber(ARGV[2]) then
  return ''
end
for index = 8, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[index]) end
if ARGV[6] == '1' then redis.call('HSET', KEYS[1], 'ended', '1') end
touch(ARGV[3])
return present`),
  /** incarnation, outcome, idle time */
  settle: script(`
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return 0 end
if redis.call('HSETNX', KEYS[1], 'outcome', ARGV[2]) == 0 then return 0 end
if redis.call('HEXISTS', KEYS[1], 'audit') == 0 then redis.call('DEL', KEYS[2]) end
touch(ARGV[3])
return 1`),
  quietAudits: script(`
return redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now)`),
  closeAudit: script(`
redis.call('ZREM', KEYS[4], KEYS[1])
redis.call('HDEL', KEYS[1], 'audit')
if redis.call('HEXISTS', KEYS[1], 'outcome') == 1 then redis.call('DEL', KEYS[2]) end
return 1`),
  shareAudit: script(`
return redis.call('XADD', KEYS[5], 'MAXLEN', '~', ARGV[1], '*', 'audit', ARGV[2])`),
  /** first id → pairs of an id and its fields */
  sharedAudits: script(`
return redis.call('XRANGE', KEYS[5], ARGV[1], '+', 'COUNT', ARGV[2])`),
  delete: script(`
redis.call('ZREM', KEYS[4], KEYS[1])
redis.call('ZREM', KEYS[3], KEYS[1])
redis.call('DEL', KEYS[2])
return redis.call('DEL', KEYS[1])`),
  count: script(`
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
return redis.call('ZCARD', KEYS[3])`),
};

const auditsAnswer = z.array(z.tuple([z.string(), z.tuple([z.literal('audit'), z.string()])]));
const readAnswer = z.tuple([z.string(), z.string(), z.string(), z.string(), z.array(z.string())]).nullable();

function parseStored<Schema extends z.core.$ZodType>(schema: Schema, text: string): z.output<Schema> {
  const parsed = z.safeParse(schema, jsonOrUndefined(text));
  if (parsed.success) return parsed.data;
  throw unavailable(
    'Redis holds a thread that this version of Earshot cannot read; delete the thread and begin it again',
  );
}

function scriptRunner(redis: Redis) {
  return async (
    { lua, sha }: (typeof scripts)[keyof typeof scripts],
    key: string,
    words: readonly (string | number)[],
  ) => {
    const keys = [`${prefix}thread:${key}`, `${prefix}posts:${key}`, openThreads, auditedThreads, auditStream];
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...words).catch((error: unknown) => {
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
        return redis.eval(lua, keys.length, ...keys, ...words);
      });
    } catch (error) {
      throw unavailable(`the store of threads (Redis) does not answer: ${redisTrouble(error)}; try again later`);
    }
  };
}

/**
 * Threads in Redis 6 or later (one server, or one behind a failover proxy; not a cluster).
 * @param url such as `redis://localhost:6379/0`
 * @throws InputError for an invalid address, ProviderError without a server
 */
export async function redisThreads(
  url: string,
  { maxThreads, idleMs, password }: ThreadLimits & { password?: string | undefined },
): Promise<ThreadStore> {
  const redis = await connectRedis(url, {
    option: '--sessions',
    password,
    // A request that cannot be answered is told so at once. Its caller can send it again: posts are known by their ids.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 5000,
    connectTimeout: 5000,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2000),
  });
  const run = scriptRunner(redis);
  /** The first unread id of the stream. */
  let unread = '-';

  return {
    async read(key, position) {
      const words = [position?.incarnation ?? '', position?.posts ?? 0, idleMs];
      const answer = readAnswer.parse(await run(scripts.read, key, words));
      if (answer === null) return null;
      const [incarnation, ended, outcome, audit, posts] = answer;
      return {
        incarnation,
        posts: posts.map((post) => parseStored(keptPostSchema, post)),
        ended: ended === '1',
        outcome: outcome === '' ? null : parseStored(outcomeSchema, outcome),
        audit: audit === '' ? null : parseStored(auditSchema, audit),
      };
    },
    async append(key, { position, posts, ended, audit = null }) {
      const { incarnation = '', posts: expected = 0 } = position ?? {};
      const lines = posts.map((post) => JSON.stringify(post));
      const drawn = audit === null ? '' : JSON.stringify(audit);
      const words = [incarnation, expected, idleMs, maxThreads, randomUUID(), ended ? '1' : '0', drawn, ...lines];
      const answer = z.string().parse(await run(scripts.append, key, words));
      if (answer === 'full') throw tooManyThreads(maxThreads);
      return answer === '' ? null : answer;
    },
    async settle(key, { incarnation, outcome }) {
      await run(scripts.settle, key, [incarnation, JSON.stringify(outcome), idleMs]);
    },
    async quietAudits() {
      const keys = z.array(z.string()).parse(await run(scripts.quietAudits, '', []));
      return keys.map((key) => key.slice(`${prefix}thread:`.length));
    },
    async closeAudit(key) {
      await run(scripts.closeAudit, key, []);
    },
    async shareAudit(audit) {
      await run(scripts.shareAudit, '', [mostShared, JSON.stringify(audit)]);
    },
    async sharedAudits() {
      const audits: Audit[] = [];
      let next = unread;
      for (;;) {
        const page = auditsAnswer.parse(await run(scripts.sharedAudits, '', [next, pageSize]));
        audits.push(...page.map(([, [, text]]) => parseStored(auditSchema, text)));
        const last = page.at(-1);
        if (last !== undefined) {
          const [time, sequence] = last[0].split('-');
          next = `${time}-${Number(sequence) + 1}`;
        }
        if (page.length === pageSize) continue;
        // Only now: where a page fails, the next call reads all of them again.
        unread = next;
        return audits;
      }
    },
    delete: async (key) => (await run(scripts.delete, key, [])) === 1,
    count: async () => z.number().parse(await run(scripts.count, '', [])),
    isReady: () => redis.status === 'ready',
    async close() {
      redis.disconnect();
    },
  };
}
