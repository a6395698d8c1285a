import { AsyncLocalStorage } from 'node:async_hooks';

/** A call that waits for those of the other loops. */
interface Waiting<Call, Result> {
  readonly loop: Loop<Call, Result>;
  readonly call: Call;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Group<Call, Result> {
  readonly live: Set<Loop<Call, Result>>;
  waiting: Waiting<Call, Result>[];
}

interface Loop<Call, Result> {
  readonly index: number;
  readonly group: Group<Call, Result>;
}

/**
 * Where the loops of several runs meet: a call waits until every loop that goes on has called, and calls of one key then run at once.
 * A loop that ends, or throws, is waited for no more.
 */
export class Meeting<Call, Result> {
  private readonly loops = new AsyncLocalStorage<Loop<Call, Result>>();
  private readonly keyOf: (call: Call) => string;
  private readonly run: (calls: readonly Call[]) => Result[];

  constructor({ keyOf, run }: { keyOf: (call: Call) => string; run: (calls: readonly Call[]) => Result[] }) {
    this.keyOf = keyOf;
    this.run = run;
  }

  /** Runs the loops side by side; what each came to, in their order. */
  together<T>(starts: readonly (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
    const group: Group<Call, Result> = { live: new Set(), waiting: [] };
    const loops = starts.map((_, index) => ({ index, group }));
    for (const loop of loops) group.live.add(loop);
    return Promise.allSettled(
      starts.map(async (start, index) => {
        try {
          return await this.loops.run(loops[index], start);
        } finally {
          group.live.delete(loops[index]);
          this.runIfAllCalled(group);
        }
      }),
    );
  }

  /** Waits for the other loops; outside of them, nobody is waited for. */
  async call(call: Call): Promise<Result> {
    const loop = this.loops.getStore();
    if (loop === undefined) return this.run([call])[0];
    return new Promise((resolve, reject) => {
      loop.group.waiting.push({ loop, call, resolve, reject });
      this.runIfAllCalled(loop.group);
    });
  }

  private runIfAllCalled(group: Group<Call, Result>): void {
    // A loop may have several calls in hand, and no loop is looked for where there are too few.
    if (group.waiting.length < group.live.size) return;
    const callers = new Set(group.waiting.map(({ loop }) => loop));
    if (callers.size === 0 || [...group.live].some((loop) => !callers.has(loop))) return;
    const waiting = group.waiting.toSorted((one, other) => one.loop.index - other.loop.index);
    group.waiting = [];
    const byKey = new Map<string, Waiting<Call, Result>[]>();
    for (const one of waiting) {
      const key = this.keyOf(one.call);
      byKey.set(key, [...(byKey.get(key) ?? []), one]);
    }
    for (const calls of byKey.values()) {
      try {
        const results = this.run(calls.map(({ call }) => call));
        for (const [index, { resolve }] of calls.entries()) resolve(results[index]);
      } catch (error) {
        for (const { reject } of calls) reject(error);
      }
    }
  }
}
