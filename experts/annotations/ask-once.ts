import { setTimeout as delay } from 'node:timers/promises';
import type { Waits } from '../llm/waits.ts';
import type { LeaseTable } from './lease-table.ts';

/** What is known of a question: its answer, or why what was answered is of no use. */
export type Known<Answer> = { readonly answer: Answer } | { readonly failure: Error };

/** Times between two looks at what other processes are asking: longer and longer while nothing of it comes. */
const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 500;

interface Waiting<Answer> {
  /** With null, the question is to be asked here. */
  resolve(known: Known<Answer> | null): void;
  reject(error: unknown): void;
}

/**
 * The answer to the question of this key.
 * @param ask asks, and keeps what it is told: what it stores ends the lease, what it throws gives the lease up
 */
export type AskOnce<Answer> = (key: string, ask: () => Promise<Answer>) => Promise<Answer>;

/**
 * Asks each question once, however many ask for it: in this process they share one promise; of several processes one
 * holds the lease and the others wait for what it is told; and what was answered is found where it is kept. Only what
 * nobody can use again, such as a service that failed, is asked for anew by the next one who wants it.
 */
export function onceAsker<Answer>(options: {
  /** What is kept of these questions, whoever asked them. */
  find: (keys: readonly string[]) => ReadonlyMap<string, Known<Answer>>;
  /** Keeps other processes from asking the same at the same time; null where no other could. */
  leases: Pick<LeaseTable, 'take' | 'release'> | null;
  /** Aborting ends the waiting, and nothing new is asked. */
  signal: AbortSignal;
  /** Told while other processes are waited for. */
  waits?: Waits | undefined;
}): AskOnce<Answer> {
  const { find, leases, signal, waits } = options;
  const underWay = new Map<string, Promise<Answer>>();
  /** What is asked in this turn of the event loop: looked up and leased in one go. */
  let newcomers = new Map<string, Waiting<Answer>>();
  /** What other processes are asking. */
  const elsewhere = new Map<string, Waiting<Answer>>();

  function askOnce(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const shared = underWay.get(key);
    if (shared !== undefined) return shared;
    const answer = knownOrAsked(key, ask);
    underWay.set(key, answer);
    const end = () => underWay.delete(key);
    answer.then(end, end);
    return answer;
  }

  async function knownOrAsked(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = await new Promise<Known<Answer> | null>((resolve, reject) => {
      if (newcomers.size === 0) queueMicrotask(() => admitNewcomers());
      newcomers.set(key, { resolve, reject });
    });
    if (known !== null && 'failure' in known) throw known.failure;
    if (known !== null) return known.answer;
    try {
      return await ask();
    } catch (error) {
      giveUp([key]);
      throw error;
    }
  }

  function admitNewcomers(): void {
    const arrived = newcomers;
    newcomers = new Map();
    const isWatching = elsewhere.size > 0;
    admit(arrived);
    if (!isWatching) void watch();
  }

  /** Answers those who wait from what is kept, lets one of all processes ask, and has the others wait. */
  function admit(waiting: ReadonlyMap<string, Waiting<Answer>>): void {
    let own: ReadonlySet<string> = new Set();
    try {
      signal.throwIfAborted();
      const known = new Map(find([...waiting.keys()]));
      const unknown = [...waiting.keys()].filter((key) => !known.has(key));
      own = leases?.take(unknown) ?? new Set(unknown);
      // What another process stored in between ended its lease.
      if (leases !== null) for (const [key, answer] of find([...own])) known.set(key, answer);
      giveUp([...own].filter((key) => known.has(key)));
      for (const [key, each] of waiting) {
        const isElsewhere = !known.has(key) && !own.has(key);
        if (isElsewhere) elsewhere.set(key, each);
        else {
          elsewhere.delete(key);
          each.resolve(known.get(key) ?? null);
        }
      }
    } catch (error) {
      giveUp([...own]);
      for (const [key, { reject }] of waiting) {
        elsewhere.delete(key);
        reject(error);
      }
    }
  }

  function giveUp(keys: readonly string[]): void {
    try {
      leases?.release(keys);
    } catch {
      // Where that cannot be written, as on a full disk, the leases end with this process.
    }
  }

  async function watch(): Promise<void> {
    const over = waits?.begin({ kind: 'process', what: 'what other processes are asking' });
    for (let waitMs = FIRST_LOOK_MS; elsewhere.size > 0; ) {
      // An abort ends the wait, and the next look tells it to those who wait.
      await delay(waitMs, undefined, { signal: signal }).catch(() => {});
      const before = elsewhere.size;
      admit(new Map(elsewhere));
      waitMs = elsewhere.size < before ? FIRST_LOOK_MS : Math.min(2 * waitMs, LONGEST_LOOK_MS);
    }
    over?.();
  }

  return askOnce;
}
