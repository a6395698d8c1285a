const shownAtMost = 8;

/** Where two JSON values differ, as `path (there x, now y)`, the first few of them; empty where they are equal. */
export function differences(there: unknown, now: unknown): string[] {
  const found = [...walk(there, now, '')];
  return found.length <= shownAtMost
    ? found
    : [...found.slice(0, shownAtMost), `and ${found.length - shownAtMost} more`];
}

function* walk(there: unknown, now: unknown, path: string): Generator<string> {
  if (isContainer(there) && isContainer(now) && Array.isArray(there) === Array.isArray(now)) {
    for (const key of new Set([...Object.keys(there), ...Object.keys(now)]))
      yield* walk(valueAt(there, key), valueAt(now, key), path === '' ? key : `${path}.${key}`);
  } else if (there !== now) {
    yield `${path} (there ${show(there)}, now ${show(now)})`;
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function valueAt(container: object, key: string): unknown {
  return Object.hasOwn(container, key) ? Reflect.get(container, key) : undefined;
}

function show(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
