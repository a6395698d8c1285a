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
const kills = 2;
/** Requests at the same time, which is the most that a kill can lose: an answer is stored before another is asked for. */
const atOnce = 3;

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
  let asked = 0;
  const server = await startServer((body) => {
    asked++;
    return { ...moodyAnswer(body), delayMs: answerMs };
  });
  const endpoint = { baseURL: server.baseURL, model: 'tiny', temperature: 0.5, logprobs: 'off', concurrency: atOnce };
  const cwd = temporaryFolder({
    'threads.jsonl': threads.map((thread) => JSON.stringify(thread)).join('\n'),
    'debate.yaml': { detector: { ...options, endpoints: { scripted: endpoint } }, task: 'rumor' },
  });
  const words = ['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'debate.yaml'];
  const path = join(cwd, 'judged.sqlite');

  // As without any kill.
  const whole = join(cwd, 'whole.sqlite');
  const store = AnnotationStore.open(whole);
  await judgeWithModels({ file: await loadDetectorFile(join(cwd, 'debate.yaml')), threads, store });
  store.close();
  expect(asked).toBe(answersIn(whole));
  asked = 0;

  const random = Random.seeded({ seed: 3, purpose: `moments of ${options.name}` });
  for (let kill = 0; kill < kills; kill++) {
    const before = asked;
    const requests = 5 + random.integer(15);
    const running = startProcess([...words, '--concurrency', '3'], { cwd });
    await until(() => asked - before >= requests);
    running.signal('SIGKILL');
    expect((await running.outcome).code).toBe(null);
    const database = new Database(path);
    expect(database.prepare('PRAGMA integrity_check').raw().all()).toEqual([['ok']]);
    database.close();
  }
  const last = await earshot([...words, '--json'], { cwd });
  expect(last.code, last.errors).toBe(0);
  expect(JSON.parse(last.out)).toMatchObject({ failed: 0, remaining: 0 });
  expect(judgementsOf(path)).toEqual(judgementsOf(whole));
  // Each request is stored once, but for those that were under way at a kill.
  expect(answersIn(path)).toBe(answersIn(whole));
  expect(asked - answersIn(path)).toBeLessThanOrEqual(kills * atOnce);
});

function answersIn(path: string): number {
  const database = new Database(path);
  const { length } = database.prepare('SELECT number FROM response').all();
  database.close();
  return length;
}
