/** How long a server asks to wait, in milliseconds; null when it does not say. */
export function retryAfterMs(headers: Headers): number | null {
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const value = headers.get('retry-after')?.trim();
  if (!value) return null;
  const seconds = Number(value);
  if (!Number.isNaN(seconds)) return seconds >= 0 ? seconds * 1000 : null;
  const until = Date.parse(value);
  // Against the server's own clock where it shows it: ours may be off. A date is the one case that needs a clock at all.
  const sent = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(until) ? null : Math.max(0, until - (Number.isNaN(sent) ? Date.now() : sent));
}
