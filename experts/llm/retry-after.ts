/** The waiting time of a server in milliseconds, from its headers or else its message; null without one. */
export function retryAfterMs({ headers, message = '' }: { headers: Headers | null; message?: string }): number | null {
  return (headers && (waitInHeaders(headers) ?? resetIn(headers))) ?? waitInMessage(message);
}

/** The minute that lies `milliseconds` ahead, in UTC: "2026-01-31 23:59". */
export function minuteAfter(milliseconds: number): string {
  return new Date(Date.now() + milliseconds).toISOString().slice(0, 16).replace('T', ' ');
}

function waitInHeaders(headers: Headers): number | null {
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const value = headers.get('retry-after')?.trim();
  if (!value) return null;
  return momentMs(value, headers);
}

const RESET = /^((?:x-|anthropic-)?ratelimit-)(?:reset(-.+)?|(.+-)reset)$/;

/**
 * The time when the reached limit ends: the one with nothing left, or else the earliest, because some servers report
 * when all of it returns. For OpenAI and similar services, Anthropic, and gateways with the IETF draft's headers.
 */
function resetIn(headers: Headers): number | null {
  const resets = [...headers].flatMap(([name, value]) => {
    const match = RESET.exec(name);
    const wait = match && momentMs(value.trim(), headers);
    if (match === null || wait === null) return [];
    return [{ wait, isReached: Number(headers.get(name.replace('reset', 'remaining')) ?? Number.NaN) <= 0 }];
  });
  const reached = resets.filter(({ isReached }) => isReached);
  if (reached.length > 0) return Math.max(...reached.map(({ wait }) => wait));
  return resets.length === 0 ? null : Math.min(...resets.map(({ wait }) => wait));
}

/** Larger numbers of seconds are moments, not durations. */
const A_MOMENT = 1e9;

/** Reads seconds, "6m0s", a date, or seconds or milliseconds since 1970. */
function momentMs(value: string, headers: Headers): number | null {
  // Measured by the server's clock if it sends one, because ours may be wrong. Only a moment needs a clock.
  const sent = Date.parse(headers.get('date') ?? '');
  const now = Number.isNaN(sent) ? Date.now() : sent;
  const seconds = Number(value);
  if (value !== '' && !Number.isNaN(seconds)) {
    if (seconds < 0) return null;
    if (seconds < A_MOMENT) return seconds * 1000;
    return Math.max(0, (seconds < A_MOMENT * 100 ? seconds * 1000 : seconds) - now);
  }
  const duration = durationMs(value);
  if (duration !== null) return duration;
  const until = Date.parse(value);
  return Number.isNaN(until) ? null : Math.max(0, until - now);
}

const PIECE = /(\d+(?:\.\d+)?)\s*(milliseconds?|ms|days?|d|hours?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])/gi;
const DURATION = new RegExp(`^(?:${PIECE.source}\\s*)+$`, 'i');
const SAID = new RegExp(`\\b(?:try again|retry|retrying|wait)\\b[^.\\d]{0,30}?((?:${PIECE.source}\\s*)+)`, 'i');

/** "Please try again in 1.2s", "Please retry after 20 seconds". */
function waitInMessage(message: string): number | null {
  const duration = SAID.exec(message)?.[1];
  return duration === undefined ? null : durationMs(duration.trim());
}

/** "1.2s", "6m0s", "20 seconds". */
function durationMs(text: string): number | null {
  if (!DURATION.test(text)) return null;
  const pieces = text.toLowerCase().matchAll(PIECE);
  return [...pieces].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (/^(?:ms|milli)/.test(unit) ? 1 : UNITS_MS[unit[0]]),
    0,
  );
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
