/** Twitter counted its ids up by one until this one (4 November 2010); from here on they hold their time. */
const firstSnowflake = 29_700_859_247n;
const twitterEpochMs = 1_288_834_974_657n;

/** When a tweet was posted, from its id: bits 22 and up are milliseconds. Null for ids that are not snowflakes. */
export function snowflakeTime(id: string): string | null {
  if (!/^\d{11,19}$/.test(id)) return null;
  const number = BigInt(id);
  if (number < firstSnowflake) return null;
  return new Date(Number((number >> 22n) + twitterEpochMs)).toISOString();
}
