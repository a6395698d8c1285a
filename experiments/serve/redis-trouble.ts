/** What Redis and its client say, by how it begins or by the code of the error, and what that means to whoever runs the server. */
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

/** Why Redis cannot be used, in words of our own; what it said itself where that is something else. */
export function redisTrouble(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = meanings.find(([pattern]) => pattern.test(message) || pattern.test(code));
  return known?.[1] ?? `it says ${JSON.stringify(message)}`;
}
