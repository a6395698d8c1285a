import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launcher } from '../launcher.ts';
import { errorOf } from './failures.ts';

/** Items that another process has at the same time, so that it never waits for the next. */
const ahead = 16;

/**
 * Does each item here or in a process of `earshot` that answers each line of its standard input, an item as JSON, with a line of
 * JSON. Whoever is free takes the next item.
 * @param options.jobs processes in all, this one counted
 * @param options.words of the command that the others run
 * @param options.atOnce items under way here at the same time
 * @param options.onAnswer gets the answers in the order of the items
 * @param options.signal no item is taken once it aborts
 * @throws what fails first: here, or in the words of the process in which it failed
 */
export async function shareWork<Item, Answer>(
  items: Iterable<Item> | AsyncIterable<Item>,
  options: {
    jobs: number;
    words: readonly string[];
    here: (item: Item) => Promise<Answer>;
    atOnce?: number;
    onAnswer: (answer: Answer, item: Item) => void;
    signal?: AbortSignal;
  },
): Promise<void> {
  const { jobs, words, here, atOnce = 1, onAnswer, signal } = options;
  const processes = Array.from({ length: jobs - 1 }, () => lineProcess(words));
  const source = eachOf(items);
  let answered = Promise.resolve();
  let fail: (error: unknown) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const takeAll = async (answerOf: (item: Item) => Promise<Answer>) => {
    // Not `for await`, which would end the source for the others, too, and wait for what they wait for.
    for (let next = await source.next(); !next.done; next = await source.next()) {
      signal?.throwIfAborted();
      const [item, before] = [next.value, answered];
      const answer = answerOf(item);
      answered = Promise.all([answer, before]).then(([reply]) => onAnswer(reply, item));
      answered.catch(fail);
      await answer;
    }
  };
  const takers = [
    ...new Array<typeof here>(atOnce).fill(here),
    ...processes.flatMap(({ ask }) =>
      new Array<typeof here>(ahead).fill(async (item) => JSON.parse(await ask(JSON.stringify(item)))),
    ),
  ];
  try {
    await Promise.race([failed, Promise.all(takers.map(takeAll))]);
    await answered;
    await Promise.all(processes.map(({ end }) => end()));
  } catch (error) {
    // Ctrl-C ends the others, too, which is no failure of theirs.
    signal?.throwIfAborted();
    throw error;
  } finally {
    for (const { end } of processes) end().catch(() => {});
    void source.return(undefined);
  }
}

async function* eachOf<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item, void> {
  yield* items;
}

/**
 * A process of `earshot` that is told lines and says lines. One that fails fails all that it was asked, with what it said last.
 * @param options.onLine told what it says that nobody has asked for
 * @param options.onNote told what it writes to standard error
 */
export function lineProcess(
  words: readonly string[],
  { onLine = () => {}, onNote = () => {} }: { onLine?: (line: string) => void; onNote?: (line: string) => void } = {},
) {
  const child = spawn(process.execPath, [launcher, ...words], { stdio: 'pipe' });
  const waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let lastWords = '';
  let failure: Error | null = null;
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => (code === 0 ? resolve() : reject(failureOf({ code, signal, lastWords }))));
  });
  ended.catch((error) => {
    failure = error;
    for (const { reject } of waiting.splice(0)) reject(error);
  });
  // It has closed its input; why is told by its end.
  child.stdin.on('error', () => {});
  createInterface({ input: child.stdout }).on('line', (line) => (waiting.shift()?.resolve ?? onLine)(line));
  createInterface({ input: child.stderr }).on('line', (line) => {
    lastWords = line.startsWith('earshot: ') ? line.slice('earshot: '.length) : `${lastWords}\n${line}`.trim();
    onNote(line);
  });
  const tell = (line: string) => void child.stdin.write(`${line}\n`);
  return {
    tell,
    ask(line: string): Promise<string> {
      if (failure !== null) return Promise.reject(failure);
      tell(line);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    /** Ends the process after what it was asked. */
    end(): Promise<void> {
      child.stdin.end();
      return ended;
    },
    /** How it ends, by itself or another. */
    ended,
  };
}
export type LineProcess = ReturnType<typeof lineProcess>;

/** The error of a process, as this one would have thrown it. */
function failureOf(of: { code: number | null; signal: NodeJS.Signals | null; lastWords: string }): Error {
  const { code, signal, lastWords } = of;
  // Node's own limit, however much the machine has.
  if (lastWords.includes('heap out of memory'))
    return errorOf(
      1,
      'its process ran out of the memory that Node lets it take; raise that in megabytes, as in NODE_OPTIONS=--max-old-space-size=8192',
    );
  if (signal !== null) return errorOf(1, `its process was ended by ${signal}; if memory ran out, give fewer --jobs`);
  const isOurs = code === 1 || code === 2;
  return errorOf(code, isOurs ? lastWords : `its process ended with exit code ${code}: ${lastWords}`);
}
