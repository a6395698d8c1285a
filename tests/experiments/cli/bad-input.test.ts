import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, threadLines, writeExperiment } from './command-line.ts';

/** Trains on these settings and files; what it says, having failed as wrong input fails. */
async function complaint(
  parts: Record<string, unknown> | string,
  options: { files?: Record<string, string>; words?: readonly string[] } = {},
): Promise<string> {
  const cwd = temporaryFolder({ ...options.files, ...(typeof parts === 'string' && { 'my.yaml': parts }) });
  if (typeof parts !== 'string') writeExperiment(join(cwd, 'my.yaml'), parts);
  const { code, out, errors } = await earshot(['train', 'my.yaml', ...(options.words ?? [])], { cwd });
  expect({ code, out }, errors).toEqual({ code: 1, out: '' });
  // After what will happen, which a file that can be read is begun with.
  expect(errors).toMatch(
    /^(tiny: 1 run in this process, [\s\S]*?\n\n)?(earshot: (backend|skipped).*\n|\[1\/1\].*\n)*earshot: /,
  );
  expect(errors).not.toMatch(/^ {4}at |this is a defect/m);
  return errors;
}

const fromFile = { data: { threads: 'threads.jsonl' } };
const sizes = { detector: 8, demonstrations: 4, environment: 4, test: 'rest' };
const withThreads = (lines: string) => ({ files: { 'threads.jsonl': lines } });

describe('an experiment file that is wrong', () => {
  it('is named where it is missing, empty or no YAML', async () => {
    expect(await complaint('')).toContain('my.yaml must hold a map of settings, such as "name: my-experiment"');
    expect(await complaint('name: [')).toContain('my.yaml is not valid YAML: line 1, column 8: expected a closing ]');
    expect(await complaint('name: x\nagent: *nowhere\n')).toMatch(/my\.yaml is not valid YAML: .*nowhere/);
    const { code, errors } = await earshot(['train', 'none.yaml'], { cwd: temporaryFolder() });
    expect({ code, errors }).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^earshot: there is no none\.yaml/),
    });
  });

  it('has its unknown keys named with the nearest known one, on top, inside and in a variant', async () => {
    const wrong = await complaint({ sedes: [1], agent: { imitation: { alhpa: 1 } }, colour: 'red' });
    expect(wrong).toContain('my.yaml is not a valid experiment:\n');
    expect(wrong).toContain('  sedes: unknown key; did you mean seeds?\n');
    expect(wrong).toContain('  agent.imitation.alhpa: unknown key; did you mean alpha?\n');
    expect(wrong).toMatch(/ {2}colour: unknown key; known are name, description, backend, /);
    const inVariant = await complaint({ variants: { plain: {}, odd: { state: { studnet: true } } } });
    expect(inVariant).toContain(
      'my.yaml (odd) is not a valid experiment:\n  state.studnet: unknown key; did you mean student?',
    );
  });

  it('has its wrong values shown', async () => {
    const wrong = await complaint({
      seeds: [1, 1],
      split: { test: 0 },
      agent: { iterations: 'many', balance: 'nome' },
    });
    expect(wrong).toContain('  seeds: a seed stands there twice (found [1,1])');
    expect(wrong).toContain('  split.test: ');
    expect(wrong).toContain('  agent.iterations: Invalid input: expected number, received string (found "many")');
    expect(wrong).toMatch(/ {2}agent\.balance: .*"none"\|"stop-step" \(found "nome"\)/);
    expect(await complaint({ agent: { imitation: { alpha: 0.2, beta: 0.1, gamma: 0.3 } } })).toContain(
      '  agent.imitation: alpha + beta must exceed gamma, or nothing is left to imitate; got 0.2 + 0.1 ≤ 0.3',
    );
  });

  it('has a removed option named in one line', async () => {
    const imitation = { rollout: 'exact', misleadingPenalty: 'add', otherExpertSampling: 'passes' };
    const agent = { preset: 'published', pairing: 'same-step', lastPost: 'dropped', normalizer: 'per-feature' };
    const wrong = await complaint({ agent: { ...agent, imitation: { ...imitation, ppo: { valueGain: 1 } } } });
    const lines = wrong.split('\n').slice(1, -1);
    expect(lines).toHaveLength(8);
    for (const line of lines)
      expect(line).toMatch(/^ {2}agent\.[\w.]+: removed in 0\.3\.0; leave the option out \(CHANGELOG\.md says/);
    // A value that never was one is shown with those that are.
    expect(await complaint({ agent: { imitation: { ppo: { advantages: 'all' } } } })).toMatch(
      / {2}agent\.imitation\.ppo\.advantages: .*"per-minibatch"\|"none" \(found "all"\)/,
    );
  });

  it('is not called as the folder that all runs share, by itself or by an option', async () => {
    const reason = 'the folder of this name holds what all runs share, such as paid judgements; choose another name';
    expect(await complaint({ name: 'cache' })).toContain(`\n  name: ${reason} (found "cache")`);
    expect(await complaint({}, { words: ['--name', 'Cache'] })).toContain(`\n  name: ${reason} (found "Cache")`);
  });

  it('is not mended by a wrong --set or option', async () => {
    const set = (text: string) => complaint({}, { words: ['--set', text] });
    expect(await set('agent.iterations')).toContain(
      '--set needs path=value, such as agent.imitation.alpha=0.5; got "agent.iterations"',
    );
    expect(await set('alpha=0.5')).toContain('alpha: unknown key; did you mean agent.imitation.alpha?');
    expect(await set('seeds=[-1]')).toContain('seeds.0: a seed is a whole number from 0 up (found -1)');
    expect(await set('seeds=[1')).toMatch(
      /the value of --set seeds=\[1 is not valid YAML: line 1, column 3: expected a closing quote or bracket/,
    );
    expect(await set('agent.iterations=.inf')).toMatch(/ {2}agent\.iterations: .*\(found Infinity\)/);
    expect(await set('agent.iteratons=5')).toContain('agent.iteratons: unknown key; did you mean iterations?');
    const cwd = temporaryFolder();

    writeExperiment(join(cwd, 'my.yaml'));
    for (const seeds of ['-1', '1.5', '1,x', '1e3', ''])
      expect((await earshot(['train', 'my.yaml', '--seeds', seeds], { cwd })).errors).toContain(
        'Seeds are whole numbers from 0 up, such as 1,2,3.',
      );
    for (const words of [
      ['--seeds', '1,,2'],
      ['--jobs', '0'],
      ['--runz', 'x'],
    ]) {
      const { code, errors } = await earshot(['train', 'my.yaml', ...words], { cwd });
      expect(code).toBe(1);
      expect(errors).toMatch(/^error: .*\n[\s\S]*add --help for the options/);
    }
    const serve = await earshot(['serve', 'policy', '--port', '65536'], { cwd });
    expect([serve.code, serve.errors]).toEqual([1, expect.stringContaining('a whole number from 0 to 65535')]);
  });
});

describe('threads that are wrong', () => {
  it('are named where they are missing or malformed', async () => {
    expect(await complaint(fromFile)).toContain('there is no threads.jsonl');
    expect(await complaint(fromFile, { files: { 'threads.jsonl/a': '' } })).toMatch(
      /threads\.jsonl is a directory; a file is needed/,
    );
    const lines = `${threadLines(2)}{"id":"x","posts":[]}\n`;
    expect(await complaint(fromFile, withThreads(lines))).toMatch(
      /threads\.jsonl:3 posts: .*a thread needs at least one post, the claim/,
    );
  });

  it('are counted where they are too few, or without labels', async () => {
    expect(await complaint(fromFile, withThreads(threadLines(30)))).toContain(
      'the parts need 60 threads (detector: 20, demonstrations: 12, environment: 12, test: 16) but there are 30; make the parts smaller, or give more threads',
    );
    expect(await complaint(fromFile, withThreads(threadLines(30, { labelled: false })))).toContain(
      'none of the 30 threads has a label (rumor: true or false) that demonstrations and tests could use',
    );
  });

  it('have the events that a split names, or it says which they have', async () => {
    const parts = { ...fromFile, split: { ...sizes, events: ['fergusn'] } };
    expect(await complaint(parts, withThreads(threadLines(30, { event: 'ferguson' })))).toContain(
      'no thread is of the event "fergusn"; the data has ferguson',
    );
    expect(await complaint(parts, withThreads(threadLines(30)))).toContain(
      'no thread is of the event "fergusn"; these threads have no events',
    );
  });

  it('of one post give the agent nothing to do', async () => {
    expect(await complaint({ ...fromFile, split: sizes }, withThreads(threadLines(30, { posts: 1 })))).toContain(
      'no thread is left for the environment: none of its threads has 3 posts; lower agent.minPosts, or give threads with more posts',
    );
  });

  it('that the detector is never right on cannot be imitated; those that it is always right on can', async () => {
    const teaching = threadLines(10, { prefix: 'a', event: 'first' });
    const parts = { ...fromFile, split: { ...sizes, detector: { events: ['first'] }, events: ['second'] } };
    const wrong = threadLines(20, { prefix: 'b', event: 'second', telling: 'wrong' });
    expect(await complaint(parts, withThreads(teaching + wrong))).toMatch(
      /there is nothing to imitate: 4 demonstrations, none of them conservative or early-action\. The detector is never right on the demonstration threads/,
    );
    const cwd = temporaryFolder({
      'threads.jsonl': teaching + threadLines(20, { prefix: 'b', event: 'second', telling: 'right' }),
    });
    writeExperiment(join(cwd, 'my.yaml'), parts);
    const { code, out, errors } = await earshot(['train', 'my.yaml', '--json'], { cwd });
    expect(code, errors).toBe(0);
    const [{ trials }] = JSON.parse(out);
    expect(trials[0].demonstrations).toEqual({ conservative: 4, earlyAction: 0, misleading: 0 });
    expect(trials[0].systems[0]).toMatchObject({ name: 'stop agent', macroF1: 1, accuracy: 1, threads: 12 });
    expect(JSON.stringify(trials)).not.toMatch(/NaN|null,null/);
  });
});

describe('a run of other settings', () => {
  it('is left as it is, and the new run stands beside it, where it is found again', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'my.yaml'));
    expect((await earshot(['train', 'my.yaml'], { cwd })).code).toBe(0);
    const other = ['--set', 'encoder.dimensions=16'];
    const unfinished = await earshot(['report', 'my.yaml', ...other], { cwd });
    expect(unfinished.errors).toMatch(
      /^earshot: no run of these settings is finished in runs \(that of tiny differs: enc/,
    );
    const beside = await earshot(['train', 'my.yaml', ...other], { cwd });
    expect(beside.code, beside.errors).toBe(0);
    expect(beside.errors.replaceAll('\n', ' ')).toContain(
      'runs/tiny holds other runs: encoder.dimensions (there 32, now 16). These stand beside them, as tiny-2;',
    );
    expect(beside.errors).toContain('Runs: runs/tiny-2 ');
    expect(readFileSync(join(cwd, 'runs/tiny-2/report.md'), 'utf8')).toContain('--name tiny-2');
    // Again, and with another seed: what is there is read.
    const more = await earshot(['train', 'my.yaml', ...other, '--seeds', '1,2'], { cwd });
    expect(more.code, more.errors).toBe(0);
    expect(more.errors).toContain('tiny-2: 1 of 2 runs');
    expect(existsSync(join(cwd, 'runs/tiny-3'))).toBe(false);
    expect((await earshot(['report', 'my.yaml', ...other], { cwd })).out).toContain('tiny-2');
  });

  it('is one of threads that were changed, too, with whatever seeds', async () => {
    const cwd = temporaryFolder();
    const threads = join(cwd, 'threads.jsonl');
    writeFileSync(threads, threadLines(70));
    writeExperiment(join(cwd, 'my.yaml'), { data: { threads } });
    const train = (seeds: string) => earshot(['train', 'my.yaml', '--seeds', seeds], { cwd });
    const first = await train('1');
    expect(first.code, first.errors).toBe(0);
    writeFileSync(threads, threadLines(72));
    const missing = await earshot(['train', 'my.yaml', '--data', 'none.jsonl'], { cwd });
    expect(missing).toMatchObject({ code: 1, errors: expect.stringMatching(/^earshot: there is no none\.jsonl/) });
    expect(existsSync(join(cwd, 'runs/tiny-2'))).toBe(false);
    const beside = await train('2');
    expect(beside.code, beside.errors).toBe(0);
    expect(beside.errors.replaceAll('\n', ' ')).toContain(`runs/tiny holds other runs: ${threads} was changed since.`);
    expect(existsSync(join(cwd, 'runs/tiny-2/agent/seed-2'))).toBe(true);
    expect((await train('1,2')).errors).toContain('tiny-2: 1 of 2 runs');
    const named = await earshot(['train', 'my.yaml', '--name', 'tiny', '--seeds', '3'], { cwd });
    expect(named).toMatchObject({ code: 1, errors: expect.stringContaining(`${threads} was changed since. Restore`) });
  });

  it('is none where the threads were mended before any run began', async () => {
    const cwd = temporaryFolder();
    const threads = join(cwd, 'threads.jsonl');
    writeFileSync(threads, threadLines(70, { labelled: false }));
    writeExperiment(join(cwd, 'my.yaml'), { data: { threads } });
    expect((await earshot(['train', 'my.yaml'], { cwd })).code).toBe(1);
    writeFileSync(threads, threadLines(70));
    const mended = await earshot(['train', 'my.yaml'], { cwd });
    expect(mended.code, mended.errors).toBe(0);
    expect(mended.errors).not.toContain('holds other runs');
  });

  it('is not gone on with under a name that was given', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'my.yaml'));
    expect((await earshot(['train', 'my.yaml', '--name', 'narrow'], { cwd })).code).toBe(0);
    const words = ['train', 'my.yaml', '--name', 'narrow', '--set', 'encoder.dimensions=16'];
    const { code, errors } = await earshot(words, { cwd });
    expect(code).toBe(1);
    expect(errors).toMatch(
      /earshot: runs\/narrow holds other runs: encoder\.dimensions \(there 32, now 16\)\. Restore what was changed to go on with them, give another --name to make runs beside them, or --restart to replace them/,
    );
    expect((await earshot(['train', 'my.yaml', '--name', 'a/b'], { cwd })).errors).toMatch(/name.*letters, digits/);
  });

  it('cannot begin where nothing can be written', async () => {
    const cwd = temporaryFolder({ taken: 'a file' });
    writeExperiment(join(cwd, 'my.yaml'));
    const { code, errors } = await earshot(['train', 'my.yaml', '--runs', 'taken'], { cwd });
    expect(code, errors).toBe(1);
    expect(errors).toMatch(/earshot: .*taken/);
    expect(errors).not.toContain('    at ');
  });
});

it('train says of threads, tables and detector files what makes an experiment of them', async () => {
  const detector = { detector: { name: 's2mad' }, task: 'rumor' };
  const cwd = temporaryFolder({ 'threads.jsonl': '{}', 'posts.csv': 'a', 's2mad.yaml': detector });
  expect((await earshot(['train', 'threads.jsonl'], { cwd })).errors).toContain(
    '`earshot init threads.jsonl` asks what you want',
  );
  expect((await earshot(['train', 'posts.csv'], { cwd })).errors).toContain(
    '`earshot data import csv posts.csv --out threads.jsonl`',
  );
  expect((await earshot(['train', 's2mad.yaml'], { cwd })).errors).toContain(
    's2mad.yaml is a detector file, and an experiment file is needed: name it in one as detector.file, or test it',
  );
});

it.each([['stats'], ['list'], ['unreadable', '--forget'], ['show', 't:1'], ['export', 'out.jsonl']])(
  'annotations %s refuses an empty file and leaves it as it is',
  async (command, ...words) => {
    const cwd = temporaryFolder({ 'none.sqlite': '' });
    const { code, out, errors } = await earshot(['annotations', command, 'none.sqlite', ...words], { cwd });
    expect([code, out, errors]).toEqual([
      1,
      '',
      expect.stringMatching(/^earshot: none\.sqlite is no annotation store: it has 0 bytes\. Name the file that /),
    ]);
    expect(readFileSync(join(cwd, 'none.sqlite'), 'utf8')).toBe('');
  },
);

it.each([
  ['data', 'import', 'threads', 'other.jsonl', 'in.jsonl', '--out', 'in.jsonl'],
  ['data', 'import', 'twitter1516', 'twitter15', '--texts', 'in.jsonl', '--out', './in.jsonl'],
  ['annotations', 'export', 'in.jsonl', 'in.jsonl'],
  ['evaluate', 'runs/a', '--data', 'in.jsonl', '--out', 'in.jsonl'],
  ['init', 'in.jsonl', '--yes', '--name', 'mine', '--out', 'in.jsonl', '--force'],
])('does not write over a file that it reads: %s', async (...words) => {
  const content = threadLines(60);
  const cwd = temporaryFolder({ 'in.jsonl': content, 'other.jsonl': threadLines(1) });
  const { code, errors } = await earshot(words, { cwd });
  expect([code, errors]).toEqual([1, expect.stringMatching(/in\.jsonl would be written over, and is read for it;/)]);
  expect(readFileSync(join(cwd, 'in.jsonl'), 'utf8')).toBe(content);
});

it.each([
  [['train', 'my.yaml', '--resume'], "unknown option '--resume' (removed: the same command resumes without it)"],
  [['data', 'import', 'csv', 'a.csv', '-o', 'b', '--max-line-mb', '1'], '(removed: set EARSHOT_MAX_LINE_MB)'],
  [
    ['select', 'a.csv', '--text', 'a', '--label', 'b', '--out', 'b.csv', '--jobs', '2'],
    '(this command runs in one process)',
  ],
  [
    ['init', 'a.jsonl', '--goal', 'ratio-sweep'],
    'use `earshot sweep experiments/recipes/ratio-pareto.yaml --data <threads>`',
  ],
])('names what replaces an option of an earlier version: %j', async (words, instead) => {
  const { code, errors } = await earshot(words, { cwd: temporaryFolder() });
  expect([code, errors]).toEqual([1, expect.stringContaining(instead)]);
  expect((await earshot(['train', 'my.yaml', '--foo'], { cwd: temporaryFolder() })).errors).toMatch(
    /^error: unknown option '--foo'\n/,
  );
});
