import { join } from 'node:path';
import Database from 'libsql';
import { expect, it } from 'vitest';
import { loadDetectorFile } from '../../experiments/config/detector-file.ts';
import { judgeWithModels } from '../../experiments/judging/judge-with-models.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { Random } from '../../src/tensor/random.ts';
import { earshot, startProcess, until } from '../experiments/cli/command-line.ts';
import { startServer } from '../experts/llm/service.ts';
import { threadOf } from '../experts/threads.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { moodyAnswer } from './moody-model.ts';

const threads = ['a', 'b'].map((id) =>
  threadOf({ id, texts: [`The dam of ${id} broke`, 'gibberish', 'It did not break', 'Stay safe'] }),
);
const answerMs = 30;
/** What was answered so shortly before a kill may not have arrived: other things happen on the machine, too. */
const arrivalMs = 150;

function judgementsOf(path: string) {
  const store = AnnotationStore.open(path);
  const rows = [...store.getRows(store.keys())];
  store.close();
  return new Map(rows.map(([key, { judgement }]) => [key, judgement]));
}

it.each([
  { name: 's2mad', models: { supporter: 'scripted' } },
  { name: 'debate-single', models: { proponent: 'scripted' } },
])('$name goes on where kill -9 ended it: nothing answered is asked again', async (options) => {
  const asked: { readonly question: string; readonly answeredMs: number }[] = [];
  const server = await startServer((body) => {
    asked.push({ question: JSON.stringify(body.messages), answeredMs: performance.now() + answerMs });
    return { ...moodyAnswer(body), delayMs: answerMs };
  });
  const endpoint = { baseURL: server.baseURL, model: 'tiny', temperature: 0.5, logprobs: 'off' };
  const cwd = temporaryFolder({
    'threads.jsonl': threads.map((thread) => JSON.stringify(thread)).join('\n'),
    'debate.yaml': { detector: { ...options, endpoints: { scripted: endpoint } }, task: 'rumor' },
  });
  const words = ['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'debate.yaml'];
  const path = join(cwd, 'judged.sqlite');

  // As without any kill.
  const whole = AnnotationStore.open(join(cwd, 'whole.sqlite'));
  await judgeWithModels({ file: await loadDetectorFile(join(cwd, 'debate.yaml')), threads, store: whole });
  whole.close();
  const allowed = countsOf(asked.splice(0));

  const random = Random.seeded({ seed: 3, purpose: `moments of ${options.name}` });
  for (let kill = 0; kill < 2; kill++) {
    const before = asked.length;
    const requests = 5 + random.integer(15);
    const running = startProcess([...words, '--concurrency', '3'], { cwd });
    await until(() => asked.length - before >= requests);
    running.signal('SIGKILL');
    const killedMs = performance.now();
    expect((await running.outcome).code).toBe(null);
    // What was under way may be asked again.
    for (const { question, answeredMs } of asked.slice(before))
      if (answeredMs > killedMs - arrivalMs) allowed.set(question, (allowed.get(question) ?? 0) + 1);
    const database = new Database(path);
    expect(database.prepare('PRAGMA integrity_check').raw().all()).toEqual([['ok']]);
    database.close();
  }
  const last = await earshot([...words, '--json'], { cwd });
  expect(last.code, last.errors).toBe(0);
  expect(JSON.parse(last.out)).toMatchObject({ failed: 0, remaining: 0 });
  const tooOften = [...countsOf(asked)].filter(([question, count]) => count > (allowed.get(question) ?? 0));
  expect(tooOften).toEqual([]);
  expect(judgementsOf(path)).toEqual(judgementsOf(join(cwd, 'whole.sqlite')));
  const database = new Database(path);
  expect(database.prepare('SELECT count(*) FROM response').raw().all()).not.toEqual([[0]]);
  database.close();
});

function countsOf(asked: readonly { readonly question: string }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { question } of asked) counts.set(question, (counts.get(question) ?? 0) + 1);
  return counts;
}
