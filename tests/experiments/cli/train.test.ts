import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, logged, start, startProcess, threadLines, tiny, until, writeExperiment } from './command-line.ts';

const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const checkpoints = (run: string) => readdirSync(join(run, 'checkpoints')).filter((name) => !name.startsWith('.'));
/** What a run must give again, byte for byte. */
const outcomeOf = (run: string) => ({
  ...Object.fromEntries(['result.json', 'metrics.jsonl', 'decisions.jsonl'].map((name) => [name, read(run, name)])),
  config: read(run, 'config.json'),
  checkpoints: checkpoints(run).map((name) => [name, readFileSync(join(run, 'checkpoints', name)).toString('base64')]),
});

/** Processes that a command has started and that still run. */
function childrenOf(parent: number): number[] {
  const words = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return words.flatMap((line) => {
    const [pid, of, ...command] = line.trim().split(/ +/);
    return Number(of) === parent && command.includes('--parent') ? [Number(pid)] : [];
  });
}

describe('train', () => {
  it('trains, leaves a whole run behind and prints its table; again, it reads what is there', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'));
    const first = await earshot(['train', 'tiny.yaml'], { cwd, page: true });
    expect(first.code, first.errors).toBe(0);
    expect(first.out).toMatch(/^tiny: .* is recommended: on 16 test threads, it reads /);
    for (const line of ['stop agent ', 'all posts ', 'The agent stops at ']) expect(first.out).toContain(`\n${line}`);
    expect(Math.max(...first.out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
    const report = read(cwd, 'runs/tiny/report.md');
    expect(report).toMatch(/^# tiny\n\n\*\*[\s\S]*## What was run\n\n.*\n\n```sh\nearshot train tiny\.yaml\n/);
    expect(report).toContain('threads: detector 20, demonstrations 12, environment 12, test 16 · seeds: 1.');
    for (const system of ['**stop agent**', 'behaviour cloning', 'first 4 posts', 'all posts', 'oracle'])
      expect(report).toContain(`| ${system} `);
    expect(first.errors).toContain('agent, seed 1: training: 4/4 iterations');
    expect(first.errors).toMatch(
      /\nRuns: runs\/tiny {3}Policy: runs\/tiny\/policy {3}Report: runs\/tiny\/report\.md {3}Page: runs\/tiny\/report\.html\nNext: npx earshot data synth .*\n +npx earshot decide made-up\.jsonl --policy runs\/tiny\/policy\n/,
    );
    expect(first.errors).toMatch(/^tiny: 1 run in this process, into runs\/tiny; then a table and a report\. /);

    const run = join(cwd, 'runs/tiny/agent/seed-1');
    const files = readdirSync(run).map((name) => name.replace(/^(events\.out\.tfevents)\..*/, '$1'));
    expect(files.sort()).toEqual([
      'checkpoints',
      'cloning.safetensors',
      'config.json',
      'decisions.jsonl',
      'events.out.tfevents',
      'judged.jsonl',
      'metrics.jsonl',
      'parts.json',
      'policy',
      'result.json',
      'run.json',
      'stop-probabilities.jsonl',
    ]);
    expect(checkpoints(run)).toEqual(['step-00000002.safetensors', 'step-00000004.safetensors']);
    expect(logged(run)).toBe(4);
    expect(JSON.parse(read(run, 'config.json'))).toMatchObject({ agent: { algorithm: 'imitation', iterations: 4 } });
    expect(JSON.parse(read(run, 'run.json'))).toMatchObject({ seed: 1, backend: 'wasm', resumed: [] });
    expect(Object.keys(JSON.parse(read(run, 'run.json')).hashes).sort()).toEqual([
      'annotations',
      'data',
      'detector',
      'embeddings',
    ]);

    const written = statSync(join(run, 'result.json')).mtimeMs;
    const narrow = await earshot(['train', 'tiny.yaml'], { cwd, columns: 80 });
    expect(Math.max(...narrow.out.split('\n').map((line) => line.length))).toBeLessThan(80);
    expect(narrow.out.replace(/\s+/g, ' ')).toMatch(/^tiny: .* is recommended: /);
    const second = await earshot(['train', 'tiny.yaml', '--json'], { cwd });
    expect(second.errors).not.toMatch(/training|judging/);
    expect(statSync(join(run, 'result.json')).mtimeMs).toBe(written);
    expect(files).toHaveLength(readdirSync(run).length);
    const [{ variant, trials }] = JSON.parse(second.out);
    const { formatVersion: _, systems, ...kept } = JSON.parse(read(run, 'result.json'));
    expect({ variant, trials }).toMatchObject({ variant: 'agent', trials: [kept] });
    // What was trained comes first; rules are decided when they are shown.
    expect(trials[0].systems.slice(0, systems.length)).toMatchObject(systems);
    expect(trials[0].systems.map(({ name }: { name: string }) => name)).toContain('confidence ≥ 0.8');
    expect(JSON.parse(read(cwd, 'runs/tiny/report.json'))).toMatchObject({
      name: 'tiny',
      results: [{ variant, trials }],
    });

    const anew = await earshot(['train', 'tiny.yaml', '--restart'], { cwd });
    expect(anew.errors).toContain('training: 4/4 iterations');
    expect(statSync(join(run, 'result.json')).mtimeMs).not.toBe(written);
  });

  it('trains every variant with every seed, or those that are asked for', async () => {
    const cwd = temporaryFolder();
    const variants = { paper: {}, wide: { agent: { hidden: 9 } } };
    writeExperiment(join(cwd, 'tiny.yaml'), { variants });
    const words = ['train', 'tiny.yaml', '--seeds', '1,2', '--set', 'agent.iterations=3', '--json'];
    const all = await earshot(words, { cwd });
    expect(all.code, all.errors).toBe(0);
    expect(all.errors).toMatch(/^tiny: 4 runs \(2 variants\) in this process, [\s\S]*\ntiny: 4\/4 trials/);
    expect(JSON.parse(all.out)).toMatchObject([
      { variant: 'paper', trials: [{ seed: 1 }, { seed: 2 }] },
      { variant: 'wide', trials: [{ seed: 1 }, { seed: 2 }] },
    ]);
    for (const run of ['paper/seed-1', 'paper/seed-2', 'wide/seed-1', 'wide/seed-2'])
      expect(logged(join(cwd, 'runs/tiny', run))).toBe(3);
    expect(read(cwd, 'runs/tiny/report.md')).toContain('| **stop agent: wide** ');
    const some = await earshot([...words, '--variants', 'wide'], { cwd });
    expect(JSON.parse(some.out).map(({ variant }: { variant: string }) => variant)).toEqual(['wide']);
    expect(read(cwd, 'runs/tiny/report.md')).toContain('--variants wide');
    const wrong = await earshot([...words, '--variants', 'wied'], { cwd });
    expect(wrong.errors).toContain('tiny has no variant "wied"; there are paper, wide');
    expect(read(cwd, 'runs/tiny/paper/seed-1/metrics.jsonl')).not.toBe(
      read(cwd, 'runs/tiny/paper/seed-2/metrics.jsonl'),
    );
  });

  it.each<[string, string, Record<string, unknown>, RegExp]>([
    ['is empty', '', {}, /threads\.jsonl is empty \(0 bytes\)/],
    ['holds blank lines', '\n\n', {}, /threads\.jsonl holds no threads/],
    ['has a bad line far down', `${threadLines(80)}{\n`, {}, /threads\.jsonl:81: is not one whole object/],
    ['has no labels', threadLines(80, { labelled: false }), {}, /none of the 80 threads has a label/],
    ['has too few threads', threadLines(40), {}, /the parts need 60 threads/],
    ['is too small for the test', threadLines(70), { split: { ...tiny.split, test: 30 } }, /the parts need 74 threads/],
  ])('begins no run where the file of threads %s', async (_, lines, parts, message) => {
    const cwd = temporaryFolder({ 'threads.jsonl': lines });
    writeExperiment(join(cwd, 'tiny.yaml'), { data: { threads: 'threads.jsonl' }, seeds: [1, 2], ...parts });
    const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code).toBe(1);
    expect(errors).toMatch(message);
    expect(errors.split('\n')).toHaveLength(2);
    expect(existsSync(join(cwd, 'runs'))).toBe(false);
  });

  it('names what fails, once where all fail alike, and trains the others', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'none.yaml'), { split: { ...tiny.split, test: 100 }, seeds: [1, 2] });
    const alike = await earshot(['train', 'none.yaml'], { cwd });
    expect(alike.code).toBe(1);
    expect(alike.errors.split('the parts need 144 threads')).toHaveLength(2);
    // Running it again would not help.
    expect(alike.errors).toMatch(/\nearshot: all 2 runs failed alike\n$/);
    const single = await earshot(['train', 'none.yaml', '--seeds', '1'], { cwd });
    expect(single.errors).toMatch(/\n\nearshot: backend wasm .*\nearshot: .*the parts need 144 threads.*\n$/);

    const many = { split: { ...tiny.split, demonstrations: 1000 } };
    writeExperiment(join(cwd, 'some.yaml'), { variants: { many, few: {} } });
    const some = await earshot(['train', 'some.yaml'], { cwd });
    expect(some).toMatchObject({ code: 1, out: '' });
    expect(some.errors).toMatch(/\nearshot: failed: many, seed 1: the parts need .*\n/);
    expect(some.errors).toMatch(/\nearshot: 1 of 2 runs failed \(many, seed 1\)\. Give the command again to try .*\n$/);
    expect(existsSync(join(cwd, 'runs/tiny/few/seed-1/result.json'))).toBe(true);
  });
});

describe('a run that is cut off', () => {
  /** Whose file is smaller than a log or a checkpoint. */
  const wordsOnly = { ...tiny.detector, characterWeights: [0] };
  /** Long enough to be met in the middle. */
  const long = { detector: wordsOnly, agent: { ...tiny.agent, iterations: 80 }, checkpointEvery: 4, seeds: [1, 2] };
  const runsIn = (folder: string) => [1, 2].map((seed) => join(folder, `tiny/agent/seed-${seed}`));

  /** A folder with the long runs that nothing stopped. Tests copy what they change. */
  const whole = mkdtempSync(join(tmpdir(), 'earshot-whole-'));
  let expected: ReturnType<typeof outcomeOf>[];
  beforeAll(async () => {
    writeExperiment(join(whole, 'tiny.yaml'), long);
    const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd: whole });
    expect(code, errors).toBe(0);
    expected = runsIn(join(whole, 'runs')).map(outcomeOf);
  });
  afterAll(() => rmSync(whole, { recursive: true, force: true }));

  it('goes on after SIGKILL, SIGINT and a full disk to the bytes of the run that nothing stopped', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), long);
    const train = ['train', 'tiny.yaml', '--seeds', '1'];
    const [run] = runsIn(join(cwd, 'runs'));

    const killed = startProcess(train, { cwd });
    await until(() => logged(run) >= 6);
    killed.signal('SIGKILL');
    expect((await killed.outcome).code).toBe(null);
    expect(existsSync(join(run, 'result.json'))).toBe(false);

    const before = logged(run);
    const stopped = start(train, { cwd });
    await until(() => logged(run) >= before + 4);
    stopped.interrupt();
    const stop = await stopped.outcome;
    expect(stop).toMatchObject({ code: 130, out: '' });
    expect(stop.errors).toMatch(/resuming runs\/tiny\/agent\/seed-1 at iteration \d+/);
    expect(stop.errors).toMatch(/earshot: stopped; give the same command again to go on\n$/);
    expect(checkpoints(run).at(-1)).toBe(`step-${String(logged(run)).padStart(8, '0')}.safetensors`);

    // The judgements and the detector are there already, so that the log is what outgrows the limit.
    const full = await startProcess(train, { cwd, fileKilobytes: 32 }).outcome;
    expect(full.code, full.errors).toBe(1);
    expect(full.errors).toMatch(
      /earshot: cannot append \d+ bytes to runs\/tiny\/agent\/seed-1\/metrics\.jsonl \(EFBIG\)/,
    );
    expect(full.errors).not.toContain('    at ');
    expect(logged(run)).toBeGreaterThan(20);

    const room = await earshot(train, { cwd });
    expect(room.code, room.errors).toBe(0);
    expect(room.errors).toMatch(/at iteration \d+ of 80\n/);
    const outcome = outcomeOf(run);
    expect(outcome).toEqual({
      ...expected[0],
      // Names the seeds of the command, and the one that was saved when it was stopped is kept, too.
      config: outcome.config,
      checkpoints: [...outcome.checkpoints.slice(0, -1), expected[0].checkpoints.at(-1)],
    });
    expect(JSON.parse(read(run, 'run.json')).resumed).toHaveLength(3);
  });

  it('keeps what it has when a checkpoint cannot be written', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), { detector: wordsOnly, agent: { ...tiny.agent, hidden: 128 } });
    // With the judgements and the detector there, what it writes is small but for its checkpoints.
    cpSync(join(whole, 'runs/cache'), join(cwd, 'runs/cache'), { recursive: true });
    const full = await startProcess(['train', 'tiny.yaml'], { cwd, fileKilobytes: 64 }).outcome;
    expect(full.code, full.errors).toBe(1);
    expect(full.errors).toMatch(
      /earshot: cannot write \d+ bytes to .*step-00000002\.safetensors \(EFBIG\): .*ulimit -f/,
    );
    const run = join(cwd, 'runs/tiny/agent/seed-1');
    expect(readdirSync(join(run, 'checkpoints'))).toEqual([]);
    expect((await earshot(['train', 'tiny.yaml'], { cwd })).code).toBe(0);
    expect(logged(run)).toBe(4);
  });

  it('goes on to the same bytes where the terminal interrupted two processes, or they were killed', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), long);
    const runs = runsIn(join(cwd, 'runs'));
    const interrupted = startProcess(['train', 'tiny.yaml', '--jobs', '2'], { cwd });
    await until(() => runs.every((run) => logged(run) >= 3));
    interrupted.signal('SIGINT');
    const { code, errors } = await interrupted.outcome;
    expect(code, errors).toBe(130);
    // Once, though the terminal interrupts the other processes, too; and one of them speaks for both.
    expect(errors.split('earshot: saving and stopping; press Ctrl-C again to stop at once')).toHaveLength(2);
    expect(errors.split('earshot: backend wasm')).toHaveLength(2);
    expect(errors).toMatch(/earshot: stopped; give the same command again to go on\n$/);
    for (const run of runs)
      expect(checkpoints(run).at(-1)).toBe(`step-${String(logged(run)).padStart(8, '0')}.safetensors`);

    const begun = startProcess(['train', 'tiny.yaml', '--jobs', '2'], { cwd });
    const isResumed = (run: string) => JSON.parse(read(run, 'run.json')).resumed.length > 0;
    await until(() => runs.some(isResumed));
    for (const child of childrenOf(begun.pid)) process.kill(child, 'SIGKILL');
    const killed = await begun.outcome;
    expect(killed.code, killed.errors).toBe(1);
    expect(killed.errors).toContain('its process was ended by SIGKILL; if memory ran out, give fewer --jobs\n');
    expect(killed.errors).toMatch(
      /earshot: (1 of 2 runs failed \(agent, seed \d\)\. Give |all 2 runs failed alike\n$)/,
    );
    const resumed = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(resumed.code, resumed.errors).toBe(0);
    expect(resumed.errors).toMatch(/resuming runs\/tiny\/agent\/seed-\d at iteration \d+ of 80/);
    expect(runs.map(outcomeOf)).toEqual(expected);
  }, 300_000);

  it('hears Ctrl-C between updates on onnx, which blocks while it computes, and goes on to the same bytes', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), { ...long, seeds: [1], backend: 'onnx' });
    const train = ['train', 'tiny.yaml', '--runs'];
    const runIn = (runs: string) => join(cwd, runs, 'tiny/agent/seed-1');
    const undisturbed = await earshot([...train, 'undisturbed'], { cwd });
    expect(undisturbed.code, undisturbed.errors).toBe(0);

    const interrupted = startProcess([...train, 'cut'], { cwd });
    await until(() => logged(runIn('cut')) >= 3);
    interrupted.signal('SIGINT');
    const { code, errors } = await interrupted.outcome;
    expect(code, errors).toBe(130);
    expect(errors).toContain('earshot: backend onnx');
    const last = logged(runIn('cut'));
    expect(last).toBeLessThan(long.agent.iterations);
    expect(checkpoints(runIn('cut')).at(-1)).toBe(`step-${String(last).padStart(8, '0')}.safetensors`);

    const resumed = await earshot([...train, 'cut'], { cwd });
    expect(resumed.code, resumed.errors).toBe(0);
    expect(resumed.errors).toContain(`at iteration ${last} of ${long.agent.iterations}`);
    expect(outcomeOf(runIn('cut'))).toEqual(outcomeOf(runIn('undisturbed')));
  }, 300_000);

  it('says what to give Node where a process needs more memory than that lets it take', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), { seeds: [1, 2] });
    vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=12');
    const { code, errors } = await earshot(['train', 'tiny.yaml', '--jobs', '2'], { cwd }).finally(() =>
      vi.unstubAllEnvs(),
    );
    expect(code, errors).toBe(1);
    expect(errors).toContain(
      'its process ran out of the memory that Node lets it take; raise that in megabytes, as in NODE_OPTIONS=--max-old-space-size=8192',
    );
  });

  it('stops before the training, too', async () => {
    const cwd = temporaryFolder();
    writeExperiment(join(cwd, 'tiny.yaml'), {
      detector: { ...tiny.detector, l2: Array.from({ length: 5000 }, (_, index) => 1e-3 / (1 + index)) },
    });
    const command = start(['train', 'tiny.yaml'], { cwd });
    await until(() => existsSync(join(cwd, 'runs/cache/annotations.sqlite')));
    command.interrupt();
    const { code, errors } = await command.outcome;
    expect(code, errors).toBe(130);
    expect(errors).toMatch(/earshot: stopped; give the same command again to go on\n$/);
  });

  it('goes on from the checkpoint before where the last one is cut', async () => {
    const cwd = temporaryFolder();
    cpSync(whole, cwd, { recursive: true });
    const runs = runsIn(join(cwd, 'runs'));
    const [run] = runs;
    const last = join(run, 'checkpoints/step-00000080.safetensors');
    truncateSync(last, statSync(last).size - 100);
    rmSync(join(run, 'result.json'));
    const cut = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(cut.code).toBe(1);
    expect(cut.errors).toMatch(
      /step-00000080\.safetensors is corrupt: .*cut short.*delete it to go on from the checkpoint before/,
    );
    rmSync(last);
    expect((await earshot(['train', 'tiny.yaml'], { cwd })).code).toBe(0);
    expect(runs.map(outcomeOf)).toEqual(expected);
  });
});
