import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { runsBelow } from '../../experiments/run/runs-below.ts';
import { keyPrefix, queueName } from '../../experiments/runner/queue/connection.ts';
import { Random } from '../../src/tensor/random.ts';
import {
  checkout,
  earshot,
  logged,
  type StartedProcess,
  startProcess,
  threadLines,
  tiny,
  until,
  writeExperiment,
} from '../experiments/cli/command-line.ts';
import { tinySweep } from '../experiments/cli/tiny.ts';
import { writeSweep } from '../experiments/sweep/tiny-sweep.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

const iterations = 30;
const experiment = { ...tinySweep.experiment, agent: { ...tiny.agent, iterations }, checkpointEvery: 5 };
const sweep = ['sweep', 'sweep.yaml', '--data', 'threads.jsonl', '--jobs', '2'];

/** A folder with a sweep and its threads, and the results of running it undisturbed. */
async function undisturbed() {
  const cwd = temporaryFolder();
  await prepare(cwd);
  const whole = await earshot(sweep, { cwd });
  expect(whole.code, whole.errors).toBe(0);
  return results(cwd);
}

async function prepare(cwd: string): Promise<string> {
  mkdirSync(cwd, { recursive: true });
  writeSweep(join(cwd, 'sweep.yaml'), { experiment });
  await earshot(['data', 'synth', '--threads', '60', '--seed', '1', '--out', 'threads.jsonl'], { cwd });
  return cwd;
}

/** Everything that a sweep writes beside its trials, but the command, which differs where a queue is named. */
function results(cwd: string): Record<string, string> {
  const folder = join(cwd, 'runs/tiny-sweep');
  const names = readdirSync(folder).filter((name) => /\.(csv|json|parquet|md|svg)$/.test(name));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));
}

/** Iterations that the runs in a folder have logged. */
function progressOf(folder: string): number {
  try {
    return runsBelow(folder, 2).reduce((sum, run) => sum + logged(run), 0);
  } catch {
    return 0;
  }
}

describe('a sweep that is killed at ten random moments', () => {
  it('ends with the same bytes', async () => {
    const expected = await undisturbed();
    const cwd = await prepare(temporaryFolder());
    const random = Random.seeded({ seed: Number(process.env.EARSHOT_KILL_SEED ?? 1), purpose: 'kills' });
    const all = 6 * iterations;
    const moments = Array.from({ length: 10 }, () => Math.floor(random.uniform() * all)).sort((a, b) => a - b);
    for (const moment of moments) {
      const killed = startProcess(sweep, { cwd });
      // What was logged after the last checkpoint is done again, so that a later moment may come a little later.
      await until(() => progressOf(join(cwd, 'runs/tiny-sweep')) >= moment);
      killed.signal('SIGKILL');
      await killed.outcome;
    }
    const resumed = await earshot(sweep, { cwd });
    expect(resumed.code, resumed.errors).toBe(0);
    expect(results(cwd)).toEqual(expected);
  });
});

describe('a sweep on a queue', () => {
  const started: StartedProcess[] = [];
  let redis: RedisServer | null = null;
  afterEach(async () => {
    for (const { signal, outcome } of started.splice(0)) {
      signalQuietly(signal);
      await outcome;
    }
    await redis?.kill();
  });

  function begin(words: readonly string[], cwd: string): StartedProcess {
    mkdirSync(cwd, { recursive: true });
    const process = startProcess(words, { cwd });
    started.push(process);
    return process;
  }

  it('ends with the same bytes though a worker and Redis are killed, on machines without the threads', async () => {
    const expected = await undisturbed();
    redis = await startRedis();
    const cwd = await prepare(temporaryFolder());
    const [first, second] = [temporaryFolder(), temporaryFolder()];
    const work = ['worker', '--queue', redis.address, '--jobs', '1', '--lost-after', '3'];
    const lost = begin(work, first);
    const head = begin([...sweep, '--queue', redis.address], cwd);

    // The first worker is lost in the middle of a trial that it has sent checkpoints of.
    const queueOf = (folder: string) => join(folder, 'runs/queue');
    await until(() => progressOf(queueOf(first)) >= 11);
    const [trial] = readdirSync(queueOf(first)).filter((name) => !name.startsWith('.'));
    await until(() => redis?.ask('hget', `${keyPrefix}:run:${trial}`, 'progress') !== '');
    lost.signal('SIGKILL');
    await lost.outcome;

    const survivor = begin(work, second);
    // The lost trial goes on from a checkpoint that the first worker had sent, without its first iterations.
    await until(() => isResumed(join(queueOf(second), trial)));
    // Redis loses all it had, while a trial is under way.
    await redis.kill();
    await redis.start();

    const { code, errors } = await head.outcome;
    expect(code, errors).toBe(0);
    expect(errors).toContain('does not answer; waiting for it');
    expect(results(cwd)).toEqual(expected);
    // Configurations name the threads as the sweep does, wherever a worker kept them.
    for (const run of runsBelow(join(cwd, 'runs/tiny-sweep'), 2)) {
      expect(JSON.parse(readFileSync(join(run, 'config.json'), 'utf8')).data.threads).toBe('threads.jsonl');
      expect(existsSync(join(run, 'policy/manifest.json'))).toBe(true);
    }

    survivor.signal('SIGTERM');
    expect((await survivor.outcome).code).toBe(130);
  });

  it('leaves the trial of a worker that was asked to stop to the next one', async () => {
    const expected = await undisturbed();
    redis = await startRedis();
    const cwd = await prepare(temporaryFolder());
    const folder = temporaryFolder();
    const work = ['worker', '--queue', redis.address, '--jobs', '2'];
    const stopped = begin(work, folder);
    const head = begin([...sweep, '--queue', redis.address], cwd);
    await until(() => progressOf(join(folder, 'runs/queue')) >= 5);
    stopped.signal('SIGTERM');
    expect((await stopped.outcome).code).toBe(130);
    begin(work, temporaryFolder());
    const { code, errors } = await head.outcome;
    expect(code, errors).toBe(0);
    expect(results(cwd)).toEqual(expected);
  });

  it('takes the runs of a training, too, with their folds and policies', async () => {
    redis = await startRedis();
    const [alone, queued] = [temporaryFolder(), temporaryFolder()];
    const agent = { ...tiny.agent, algorithm: 'settled', behaviorCloning: { epochs: 8 } };
    const state = { posts: 'none', observesDetector: true };
    for (const cwd of [alone, queued]) {
      writeFileSync(join(cwd, 'threads.jsonl'), threadLines(60));
      const parts = { data: { threads: 'threads.jsonl' }, split: undefined, crossFitting: { folds: 2 }, agent, state };
      writeExperiment(join(cwd, 'tiny.yaml'), parts);
    }
    const whole = await earshot(['train', 'tiny.yaml'], { cwd: alone });
    expect(whole.code, whole.errors).toBe(0);
    begin(['worker', '--queue', redis.address, '--jobs', '1'], temporaryFolder());
    const trained = await earshot(['train', 'tiny.yaml', '--queue', redis.address], { cwd: queued });
    expect(trained.code, trained.errors).toBe(0);
    expect(trained.out).toBe(whole.out);
    const filesOf = (cwd: string) =>
      readdirSync(join(cwd, 'runs/tiny'), { recursive: true, encoding: 'utf8' }).filter(
        (name) => !/tfevents/.test(name),
      );
    expect(filesOf(queued).sort()).toEqual(filesOf(alone).sort());
  });

  it('lets a trial that cannot be trained fail alone', async () => {
    redis = await startRedis();
    const cwd = temporaryFolder();
    writeSweep(join(cwd, 'sweep.yaml'), { space: { 'split.demonstrations': [12, 1000] } });
    begin(['worker', '--queue', redis.address, '--jobs', '1'], temporaryFolder());
    const swept = await earshot(['sweep', 'sweep.yaml', '--queue', redis.address], { cwd });
    expect(swept.code, swept.errors).toBe(1);
    expect(swept.out).toContain('2 finished, 2 failed');
  });

  it('is trained by one program: a worker with other sources leaves its trials to others, and says why', async () => {
    redis = await startRedis();
    const cwd = await prepare(temporaryFolder());
    const work = ['worker', '--queue', redis.address, '--jobs', '1'];
    const differing = startProcess(work, { cwd: temporaryFolder(), program: changedCheckout() });
    started.push(differing);
    const head = begin([...sweep, '--queue', redis.address], cwd);
    const declined =
      /the worker on \S+ leaves trials to others: it is Earshot \S+ \(sources \w+\), and the sweep was started by/;
    await until(() => declined.test(head.errors()));
    expect(differing.errors()).toMatch(declined);

    begin(work, temporaryFolder());
    const { code, errors } = await head.outcome;
    expect(code, errors).toBe(0);
    expect(differing.errors()).not.toContain('begins');
    expect(differing.errors().match(declined)).toHaveLength(1);
    expect(readFileSync(join(cwd, 'runs/tiny-sweep/report.md'), 'utf8')).toContain('6 trials: 6 finished.');
  });

  it('is not taken from a version that writes jobs in another form', async () => {
    redis = await startRedis();
    const connection = new Redis(redis.address, { maxRetriesPerRequest: null });
    const queue = new Queue(queueName, { connection, prefix: keyPrefix });
    try {
      const job = await queue.add('trials', { version: '0.1.0', tasks: [] });
      const worker = begin(['worker', '--queue', redis.address, '--jobs', '1'], temporaryFolder());
      await until(() => worker.errors().includes('the sweep was started by another version; install the same'));
      expect(await job.isFailed()).toBe(false);
    } finally {
      await queue.close();
      connection.disconnect();
    }
  });

  it('is trained on one backend: a worker without it leaves its trials to others, and says why', async () => {
    redis = await startRedis();
    const cwd = await prepare(temporaryFolder());
    begin(['worker', '--queue', redis.address, '--jobs', '1'], temporaryFolder());
    const head = begin([...sweep, '--set', 'backend=tensorflow', '--queue', redis.address], cwd);
    await until(() =>
      /leaves trials to others: the sweep is trained on tensorflow, which does not start there \(/.test(head.errors()),
    );
    head.signal('SIGINT');
    expect((await head.outcome).code).toBe(130);
  });

  it('says where nothing answers', async () => {
    redis = await startRedis();
    await redis.kill();
    const cwd = await prepare(temporaryFolder());
    const swept = await earshot([...sweep, '--queue', redis.address.replace('//', '//:secret@')], { cwd });
    expect(swept.code).toBe(2);
    expect(swept.errors).toContain(`Redis at ${redis.address} cannot be used: `);
    expect(swept.errors).not.toContain('secret');
  });
});

/** A copy of this program in which one comment is another. */
function changedCheckout(): string {
  const copy = temporaryFolder();
  for (const name of ['checkpoints', 'envs', 'experiments', 'experts', 'src', 'trainers', 'index.ts', 'package.json'])
    cpSync(join(checkout, name), join(copy, name), { recursive: true });
  symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'));
  appendFileSync(join(copy, 'trainers/gae.ts'), '// Another program.\n');
  return copy;
}

function isResumed(run: string): boolean {
  const record = join(run, 'run.json');
  return existsSync(record) && JSON.parse(readFileSync(record, 'utf8')).resumed.length > 0;
}

/** A process that has ended already has no group to signal. */
function signalQuietly(signal: StartedProcess['signal']): void {
  try {
    signal('SIGKILL');
  } catch {}
}
