const form = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3])(:[0-5]\d){2}(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const formWithoutZone = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?$/;

/**
 * Milliseconds since 1970 of a time in ISO 8601 with its zone, the form in thread files, requests and policies; null
 * for any other text. `earshot_policy.py` has the same rule.
 */
export function isoMilliseconds(time: string): number | null {
  return form.test(time) && isDay(time.slice(0, 10)) ? Date.parse(time) : null;
}

/** Whether the calendar has a day: `Date` would turn 2024-02-30 into the first of March. */
export function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

export const noSuchDay = 'is on a day that its month does not have';

/** The problem of a time in ISO 8601 with its zone; null for a valid one. @param otherwise the reason by default */
export function timeProblem(time: unknown, otherwise: string): string | null {
  if (typeof time !== 'string') return otherwise;
  if (isoMilliseconds(time) !== null) return null;
  if (formWithoutZone.test(time)) return 'names no time zone: write Z behind it for UTC, or an offset such as +02:00';
  return form.test(time) ? noSuchDay : otherwise;
}

/** Hours from the time of a claim to that of a post, never negative; null if either is unknown. */
export function hoursBetween(claim: string | null, post: string | null): number | null {
  if (claim === null || post === null) return null;
  return Math.max(0, (Date.parse(post) - Date.parse(claim)) / 3_600_000);
}
