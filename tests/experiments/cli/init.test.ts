import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { loadVariants } from '../../../experiments/config/experiment-file.ts';
import { goals } from '../../../experiments/init/experiment-text.ts';
import { fittingParts } from '../../../experiments/init/found-threads.ts';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, threadLines } from './command-line.ts';

const folder = () => temporaryFolder({ 'threads.jsonl': threadLines(80) });
const read = (cwd: string, name: string) => readFileSync(join(cwd, name), 'utf8');

describe('init', () => {
  it.each(Object.keys(goals).filter((goal) => goal !== 'guarantee'))(
    'writes a file for %s that loads, commented, with parts that fit',
    async (goal) => {
      const cwd = folder();
      const words = ['init', 'threads.jsonl', '--goal', goal, '--name', 'mine', '--yes'];
      const made = await earshot(words, { cwd });
      expect(made.code, made.errors).toBe(0);
      expect(made.errors).toContain(
        'Found 80 threads, 320 posts (median 4 per thread).\n  rumor: 80 labelled (non-rumor 40, rumor 40)\n',
      );
      expect(made.out).toContain('Wrote mine.yaml. 80 labelled threads train and test in 5 folds.');
      expect(made.errors).toContain('With fewer than 100, scores say little');
      const text = read(cwd, 'mine.yaml');
      expect(text).toMatch(/^# Made by `earshot init` for /);
      const path = join(cwd, 'mine.yaml');
      expect(made.out).toContain('Next: npx earshot train mine.yaml');
      const [{ experiment }] = (await loadVariants({ path, overrides: [], resolve: resolveExperiment })).variants;
      expect(experiment).toMatchObject({
        data: { threads: 'threads.jsonl' },
        seeds: [1, 2, 3],
        crossFitting: { folds: 5 },
        guarantee: null,
      });
    },
  );

  it('asks how many predictions may change, and trains to that guarantee', async () => {
    const cwd = temporaryFolder({
      'threads.jsonl': `${threadLines(80)}${threadLines(180, { labelled: false, prefix: 'new-' })}`,
    });
    const stdin = Readable.from(['many\n10%\n', 'local\n', 'mine\n']);
    const made = await earshot(['init', 'threads.jsonl'], { cwd, stdin });
    expect(made.code, made.errors).toBe(0);
    expect(made.errors).toMatch(/thread’s\nHow many predictions may change if you stop early \(other/);
    expect(made.errors).toContain('"many" is no share');
    expect(read(cwd, 'mine.yaml')).toContain('guarantee: { level: 0.1, confidence: 0.9 }');
    const quick = [
      '--seeds',
      '1',
      '--set',
      'agent.iterations=20',
      '--set',
      'backend=wasm',
      '--set',
      'detector.folds=2',
    ];
    const trained = await earshot(['train', 'mine.yaml', ...quick], { cwd });
    expect(trained.code, trained.errors).toBe(0);
    expect(trained.out).toMatch(
      /^mine: Reads \d+% of the posts; with 90% confidence at most 10% of predictions\s+would\s+change/,
    );
    const decided = await earshot(['decide', 'threads.jsonl', '--policy', 'runs/mine/policy'], { cwd });
    const { threshold, threads } = JSON.parse(read(cwd, 'runs/mine/policy/manifest.json')).guarantee;
    // A third of the unlabelled threads train the agent.
    expect(threads).toBe(120);
    const first = JSON.parse(decided.out.split('\n')[0]);
    expect(first.scores.findIndex((score: number) => score > threshold)).toBe(
      first.why === 'threshold' ? first.postsUsed - 1 : -1,
    );
    const few = await earshot(['init', 'threads.jsonl', '--goal', 'guarantee', '--risk-level', '0.1%', '--yes'], {
      cwd,
    });
    expect(few.errors.replace(/\s+/g, ' ')).toContain(
      'a guarantee of 0.1% takes 999 labelled threads that test, or about 3453 without a label, and there are 80 and 180;',
    );
  });

  it('writes the labels that raise an alert, with a guarantee about them where there are threads enough', async () => {
    const cwd = temporaryFolder({
      'threads.jsonl': `${threadLines(80)}${threadLines(300, { labelled: false, prefix: 'new-' })}`,
      'classes.jsonl': threadLines(80).replace(/"rumor":(true|false)/g, '"rumor":null,"labels":{"outcome":"a, $1"}'),
    });
    const make = (...words: string[]) => earshot(['init', ...words, '--name', 'mine', '--yes', '--force'], { cwd });
    const resolved = async () =>
      (await loadVariants({ path: join(cwd, 'mine.yaml'), overrides: [], resolve: resolveExperiment })).variants[0]
        .experiment;
    // Half of the threads raise one, and 47 early alerts show 10% where none is withdrawn.
    const made = await make('threads.jsonl', '--alerts', 'rumor', '--risk-level', '10%');
    expect(made.code, made.errors).toBe(0);
    expect(await resolved()).toMatchObject({
      alerts: ['rumor'],
      guarantee: { loss: 'withdrawn', level: 0.1 },
      agent: { algorithm: 'settled' },
    });
    expect(read(cwd, 'mine.yaml')).toContain('at most this share of early alerts would be withdrawn');
    const few = await make('threads.jsonl', '--alerts', 'rumor', '--risk-level', '2%');
    expect([few.code, few.errors]).toEqual([
      1,
      expect.stringMatching(/a guarantee of 2% about alerts \(rumor\) takes about 4\d\d; add threads/),
    ]);
    // A name with a comma is one label; without a guarantee the threshold is chosen on the labelled threads.
    const early = await make('classes.jsonl', '--alerts', 'a, true');
    expect(early.code, early.errors).toBe(0);
    expect(early.errors.replaceAll(/\s+/g, ' ')).toContain('no guarantee: at a risk level of 5% it takes about 19');
    expect(await resolved()).toMatchObject({ alerts: ['a, true'], crossFitting: { folds: 5 }, guarantee: null });
    for (const [alerts, problem] of [
      ['rumour', 'no thread has the label rumour of --alerts; name others (there are non-rumor, rumor)'],
      ['rumor,rumour', 'alerts: "rumour" is no label of the task rumor: non-rumor, rumor'],
      ['rumor,non-rumor', 'alerts: every label raises an alert'],
    ]) {
      const { code, errors } = await make('threads.jsonl', '--alerts', alerts);
      expect([code, errors]).toEqual([1, expect.stringContaining(problem)]);
    }
  });

  it('writes a file that trains', async () => {
    const cwd = folder();
    await earshot(['init', 'threads.jsonl', '--goal', 'earliest', '--name', 'mine', '--yes'], { cwd });
    const quick = ['--seeds', '1', '--set', 'agent.iterations=2', '--set', 'backend=wasm', '--set', 'detector.folds=2'];
    const trained = await earshot(['train', 'mine.yaml', ...quick], { cwd });
    expect(trained.code, trained.errors).toBe(0);
    expect(trained.out).toContain('cross-validated over 80 labelled threads');
    // Whoever has threads needs no advice to come with some.
    expect(trained.errors).not.toContain('the same with your own threads');
  });

  it('chooses a task that the threads have every label of, before one that more of them have a label of', async () => {
    const lines = threadLines(60).split('\n').slice(0, -1);
    const cwd = temporaryFolder({
      'threads.jsonl': lines
        .map((line, index) => {
          const veracity = index < 3 ? 'non-rumor' : ['true', 'false', 'unverified'][index % 3];
          return `${JSON.stringify({ ...JSON.parse(line), rumor: null, veracity })}\n`;
        })
        .join(''),
    });
    const made = await earshot(['init', 'threads.jsonl', '--yes'], { cwd });
    expect(made.code, made.errors).toBe(0);
    expect(read(cwd, 'my-threads.yaml')).toContain('task: rumor-veracity');
  });

  it('writes nothing that could not train: too few of a label for the detector, or no replies', async () => {
    const few = threadLines(60).split('\n').slice(0, -1);
    const cwd = temporaryFolder({
      'few.jsonl': few
        .map((line, index) => `${line.replace('"rumor":false', index > 3 ? '"rumor":true' : '"rumor":false')}\n`)
        .join(''),
      'short.jsonl': threadLines(60, { posts: 2 }),
    });
    expect((await earshot(['init', 'few.jsonl', '--yes'], { cwd })).errors).toMatch(
      /the local detector needs at least 3 training threads of every label of the task "rumor"; of 60 threads these have one: non-rumor 2,/,
    );
    expect((await earshot(['init', 'short.jsonl', '--yes'], { cwd })).errors).toContain(
      'none of the 60 threads that the agent would learn from has 3 posts (seed 1)',
    );
    expect(existsSync(join(cwd, 'my-threads.yaml'))).toBe(false);
  });

  it('asks for what was not given, again where the answer is none of the choices', async () => {
    const cwd = folder();
    const stdin = Readable.from(['threads.jsonl\nother\n', 'cheap\n', 'fewer-queries\n', '\nasked\n']);
    const made = await earshot(['init'], { cwd, stdin });
    expect(made.code, made.errors).toBe(0);
    expect(made.errors).toContain('"cheap" is none of fewer-queries, earliest, best-f1.');
    expect(read(cwd, 'asked.yaml')).toContain('state: { posts: none, student: true }');
  });

  it('explains a question on ?, and waits for the answer without asking again', async () => {
    const cwd = folder();
    const stdin = Readable.from(['?\nthreads.jsonl\n', 'other\n?\n', 'fewer-queries\n', '?\nlocal\n', 'asked\n']);
    const made = await earshot(['init'], { cwd, stdin });
    expect(made.code, made.errors).toBe(0);
    expect(made.errors).toContain('A file of JSON Lines, one thread a line');
    expect(made.errors).toContain('What judges the posts read so far.');
    expect(made.errors.match(/Thread file\?/g)).toHaveLength(1);
    expect(made.errors.match(/What the agent is for\?/g)).toHaveLength(1);
    expect(existsSync(join(cwd, 'asked.yaml'))).toBe(true);
  });

  it('asks again where an answer is no thread file and no detector', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'threads.csv'), 'a,b\n');
    const stdin = Readable.from([
      'nosuch.jsonl\nnone.csv\nthreads.csv\nthreads.jsonl\n',
      '\n',
      'gpt\nlocal\n',
      'asked\n',
    ]);
    const made = await earshot(['init'], { cwd, stdin });
    expect(made.code, made.errors).toBe(0);
    expect(made.errors).toContain('there is no nosuch.jsonl');
    expect(made.errors).toContain('there is no none.csv');
    expect(made.errors).toContain('threads.csv is a table;');
    expect(made.errors).toContain('there is no detector file gpt;');
    expect(existsSync(join(cwd, 'asked.yaml'))).toBe(true);
  });

  it('offers the sentence encoders that are there, and takes none of them by itself', async () => {
    const cwd = temporaryFolder({
      'threads.jsonl': threadLines(80),
      'models/small/config.json': '{}',
      'models/small/onnx/model_quantized.onnx': '',
      'models/other/readme.txt': '',
      'elsewhere/config.json': '{}',
      'elsewhere/model.onnx': '',
    });
    const encoderOf = async (name: string) => {
      const [{ experiment }] = (
        await loadVariants({ path: join(cwd, `${name}.yaml`), overrides: [], resolve: resolveExperiment })
      ).variants;
      return 'file' in experiment.detector ? undefined : experiment.detector.encoder;
    };
    const asked = await earshot(['init', 'threads.jsonl', '--goal', 'best-f1'], {
      cwd,
      stdin: Readable.from(['local\n', './models/small\n', 'asked\n']),
    });
    expect(asked.code, asked.errors).toBe(0);
    expect(asked.errors).toMatch(/Sentence encoder for the detector\?\n {2}none\n(?:.*\n)* {2}\.\/models\/small\n/);
    expect(asked.errors).not.toContain('models/other');
    expect(await encoderOf('asked')).toMatchObject({ name: 'transformers', model: './models/small', dtype: 'q8' });
    const words = ['init', 'threads.jsonl', '--yes', '--name'];
    await earshot([...words, 'plain'], { cwd });
    expect(await encoderOf('plain')).toBe(null);
    await earshot([...words, 'named', '--encoder', 'elsewhere'], { cwd });
    expect(await encoderOf('named')).toMatchObject({ model: 'elsewhere', dtype: 'fp32' });
    const { errors } = await earshot([...words, 'none', '--encoder', 'bert'], { cwd });
    expect(errors).toMatch(/^earshot: there is no sentence encoder bert here; give none, .*\.\/models\/small/m);
  });

  it('lets a detector of few threads read times where nearly all posts have one', async () => {
    const timed = threadLines(80).split('\n').slice(0, -1);
    const without = (share: number) =>
      timed.map((line, index) => `${index < share * 80 ? line.replaceAll(/"time":"[^"]*"/g, '"time":null') : line}\n`);
    const cwd = temporaryFolder({
      'timed.jsonl': without(0).join(''),
      'some.jsonl': without(0.1).join(''),
      'half.jsonl': without(0.5).join(''),
      'many.jsonl': threadLines(700),
      'models/small/config.json': '{}',
      'models/small/model.onnx': '',
    });
    const detectorOf = async (name: string, ...words: string[]) => {
      const made = await earshot(['init', `${name}.jsonl`, '--yes', '--name', name, '--force', ...words], { cwd });
      expect(made.code, made.errors).toBe(0);
      const path = join(cwd, `${name}.yaml`);
      const [{ experiment }] = (await loadVariants({ path, overrides: [], resolve: resolveExperiment })).variants;
      return experiment.detector;
    };
    expect(await detectorOf('timed')).toMatchObject({ timing: true, encoder: null });
    expect(await detectorOf('some')).toMatchObject({ timing: true });
    expect(await detectorOf('half')).not.toHaveProperty('timing');
    expect(await detectorOf('many')).not.toHaveProperty('timing');
    expect(await detectorOf('timed', '--encoder', 'models/small')).toMatchObject({
      timing: true,
      encoder: { name: 'transformers' },
    });
  });

  it('takes a detector file, and says what asking would cost before it is asked', async () => {
    const cwd = folder();
    writeFileSync(
      join(cwd, 'judge.yaml'),
      'task: rumor\ndetector:\n  name: single-prompt\n  model: { baseURL: "http://localhost:1/v1", model: m }\n',
    );
    const made = await earshot(['init', 'threads.jsonl', '--detector', 'judge.yaml', '--yes'], { cwd });
    expect(made.code, made.errors).toBe(0);
    expect(made.out).toContain(
      'npx earshot annotate threads.jsonl --store judged.sqlite --detector judge.yaml --dry-run',
    );
    const path = join(cwd, 'my-threads.yaml');
    const [{ experiment }] = (await loadVariants({ path, overrides: [], resolve: resolveExperiment })).variants;
    expect(experiment.detector).toMatchObject({ file: 'judge.yaml', schedule: { name: 'geometric', factor: 1.5 } });
  });

  it('leads to labelling where no thread has a label', async () => {
    const cwd = temporaryFolder({ 'none.jsonl': threadLines(50, { labelled: false }) });
    const { code, out } = await earshot(['init', 'none.jsonl', '--yes'], { cwd });
    expect(code).toBe(0);
    expect(out).toContain('none.jsonl has 50 threads, and none has a label.');
    expect(out).toContain('\nNext: npx earshot label none.jsonl --label outcome --classes resolved,escalated\n');
    expect(readdirSync(cwd)).toEqual(['none.jsonl']);
  });

  it('says what is wrong with its input, and writes nothing', async () => {
    const cwd = temporaryFolder({
      'few.jsonl': threadLines(10),
      'posts.csv': 'a',
      'topics.jsonl': Array.from({ length: 63 }, (_, index) =>
        JSON.stringify({ ...makeThread(`t${index}`, { rumor: null }), labels: { topic: `c${index % 21}` } }),
      ).join('\n'),
    });
    const errors = async (...words: string[]) => (await earshot(['init', ...words, '--yes'], { cwd })).errors;
    expect(await errors('few.jsonl')).toContain(
      'few.jsonl has 10 labelled threads (non-rumor 5, rumor 5) among its 10; at least 40 are needed',
    );
    expect(await errors('few.jsonl')).toContain('Label more (`npx earshot label few.jsonl --label rumor`)');
    const topics =
      'topics.jsonl has no threads with two different labels (the label "topic" has more than 20 values, and a task has 2 to 20 classes) among its 63';
    expect(await errors('topics.jsonl')).toContain(topics);
    expect((await earshot(['detect', 'topics.jsonl', '--train'], { cwd })).errors).toContain(topics);
    expect(await errors('posts.csv')).toContain(
      'make threads of it first: `earshot data import csv posts.csv --out threads.jsonl`',
    );
    writeFileSync(join(cwd, 'threads.jsonl'), threadLines(60));
    expect(await errors('threads.jsonl', '--task', 'veracity')).toContain(
      'earshot: Which label is decided? "veracity" is none of rumor\n',
    );
    expect(await errors('threads.jsonl', '--detector', 'gpt')).toContain('there is no detector file gpt; give local');
    expect(existsSync(join(cwd, 'my-threads.yaml'))).toBe(false);
    const silent = await earshot(['init', 'threads.jsonl'], { cwd });
    expect(silent.errors).toContain('no answer; give the answers as options, or --yes');
    await errors('threads.jsonl');
    expect(await errors('threads.jsonl')).toContain('my-threads.yaml exists already; give another --out, or --force');
    expect(await errors('threads.jsonl', '--name', '../x')).toContain('"../x" cannot be the name: letters, digits');
    // Who answers questions is asked again, and loses no answer.
    const stdin = Readable.from(['5%\nlocal\na b\nmy-threads\n']);
    const asked = await earshot(['init', 'threads.jsonl', '--encoder', 'none', '--force'], { cwd, stdin });
    expect(asked.errors).toContain('"a b" cannot be the name');
    expect(asked.code, asked.errors).toBe(0);
  });

  it('gives the paper’s sizes where there are threads enough', () => {
    expect(fittingParts(3000, { unlabelled: 0, calibrates: false })).toEqual({
      demonstrations: 50,
      environment: 300,
      development: 200,
      calibration: 0,
    });
    expect(fittingParts(40, { unlabelled: 500, calibrates: true })).toEqual({
      demonstrations: 4,
      environment: 100,
      development: 0,
      calibration: 200,
    });
  });
});
