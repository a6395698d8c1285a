import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDecisions, writeDecisions } from '../../../experiments/run/decisions-file.ts';
import { selectorDecisionSchema, selectorSystems } from '../../../experiments/selector/decisions.ts';
import { earshot, logged, start, startProcess, until } from '../cli/command-line.ts';
import { outcomeOf, tinyFolder, tinySelector, trainHere } from './tiny-selector.ts';

/** Which labels are right is known of planted threads only. */
const systemsByDefault = selectorSystems.filter((name) => name !== 'right-labels');

const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
const runOf = (cwd: string, runs = 'runs') => join(cwd, runs, 'tiny/agent/seed-1');

describe('train, of a selector', () => {
  it('trains, leaves a whole run behind and prints its tables; later, it reads what is there', async () => {
    const cwd = tinyFolder();
    const first = await earshot(['train', 'tiny.yaml'], { cwd, page: true });
    expect(first.code, first.errors).toBe(0);
    expect(first.out).toMatch(/\n\nplanted, macro-F1 +stance +veracity\n─+\nselector +0\.\d{3} +0\.\d{3}\n/);
    expect(first.out.replaceAll('\n', ' ')).toMatch(
      /^tiny: Compared with a random selection alike in every class, the selector shows (a gain|a loss|no measurable gain) in stance on planted \(/,
    );
    for (const system of ['task models untuned', 'random selection of the same size'])
      expect(first.out).toMatch(new RegExp(`\n${system} +0\\.\\d{3} +0\\.\\d{3}\n`));
    const report = read(cwd, 'runs/tiny/report.md');
    expect(report).toMatch(
      /^# tiny\n\n\*\*Compared [\s\S]*labelled claims: 12 · unlabelled claims: 12 · posts: 96 .*\n\n```sh\nearshot train tiny\.yaml\n/,
    );
    for (const heading of ['planted: stance', 'planted: veracity', 'The last epoch'])
      expect(report).toContain(`\n## ${heading}\n`);
    for (const system of [
      '**selector**',
      'task models untuned',
      'tuned on everything, no selection',
      'random selection of the same size',
      'random selection alike in every class',
      'tuned on human labels',
      'most common class',
      'most similar text (1-NN on words)',
      'TF-IDF and logistic regression',
    ])
      expect(report.split(`\n| ${system} `).length, system).toBeGreaterThan(2);
    expect(report).toMatch(
      /\n\| random selection of the same size +\| +0\.\d{3} .*\| +[+−]0\.\d{3} \[[+−]0\.\d{3}, [+−]0\.\d{3}\] /,
    );
    expect(first.errors).toMatch(/agent, seed 1: testing supervised on planted: \d+\/\d+ steps/);
    // The untuned models are tested after no epoch at all.
    expect(first.errors).not.toContain('untuned: selecting');
    expect(first.errors).toMatch(
      /\nRuns: runs\/tiny {3}Report: runs\/tiny\/report\.md {3}Page: runs\/tiny\/report\.html\nNext: npx earshot select /,
    );

    const run = runOf(cwd);
    const files = readdirSync(run).map((name) => name.replace(/^(events\.out\.tfevents)\..*/, '$1'));
    expect(files.sort()).toEqual([
      'checkpoints',
      'config.json',
      'decisions.jsonl',
      'events.out.tfevents',
      'last-epoch.json',
      'last-selection.jsonl',
      'metrics.jsonl',
      'parts.json',
      'result.json',
      'room.json',
      'run.json',
    ]);
    expect(readdirSync(join(run, 'checkpoints'))).toEqual(['step-00000002.safetensors', 'step-00000003.safetensors']);
    const decisions = readDecisions(run, selectorDecisionSchema);
    expect([...new Set(decisions.map(({ system }) => system))]).toEqual(systemsByDefault);
    expect(JSON.parse(read(run, 'run.json'))).toMatchObject({ seed: 1, resumed: [] });
    expect(JSON.parse(read(run, 'config.json'))).toMatchObject({ kind: 'selector', selector: { epochs: 3 } });
    const metrics = read(run, 'metrics.jsonl')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3]);
    const { step: _, ...lastEpoch } = metrics[2];
    const result = JSON.parse(read(run, 'result.json'));
    expect(result).toMatchObject({
      seed: 1,
      claims: { labelled: 12, unlabelled: 12, posts: 96 },
      epochs: 3,
      lastEpoch,
    });
    expect(result.systems).toEqual(systemsByDefault);
    expect(result.room).toEqual(JSON.parse(read(run, 'room.json')));
    expect(first.errors).toMatch(/ to gain (here )?in stance: correct weak labels over random ones/);

    const written = statSync(join(run, 'result.json')).mtimeMs;
    const second = await earshot(['train', 'tiny.yaml', '--json'], { cwd });
    expect(second.errors).not.toMatch(/selecting|testing/);
    const [{ trials }] = JSON.parse(second.out);
    expect(trials).toMatchObject([{ seed: 1, claims: result.claims, epochs: 3, lastEpoch }]);
    expect(trials[0].systems.map(({ name }: { name: string }) => name)).toEqual(systemsByDefault);
    expect(statSync(join(run, 'result.json')).mtimeMs).toBe(written);
    const reports = await Promise.all(
      [[], ['--json']].map((words) => earshot(['report', 'tiny.yaml', ...words], { cwd })),
    );
    expect(reports[0].out).toMatch(/^tiny: .*(.*\n)+── The last epoch ──\n/);
    expect(reports[1].out).toBe(second.out);
  });

  it('ends where so many claims in a row had full reward, and keeps what its task models were tuned on then', async () => {
    const selector = { ...tinySelector.selector, epochs: 9, agreement: 'raw-sign', stopAfterFullRewards: 20 };
    const cwd = tinyFolder({ selector, evaluation: { beside: [], room: false } });
    await trainHere(cwd);
    const { epochs, isTerminated, lastEpoch } = JSON.parse(read(runOf(cwd), 'result.json'));
    expect(isTerminated).toBe(true);
    expect(epochs).toBeLessThan(9);
    expect(lastEpoch['shown/claims']).toBeGreaterThan(0);
    expect(read(runOf(cwd), 'metrics.jsonl').trimEnd().split('\n')).toHaveLength(epochs);
  });

  it('comes to the same bytes in shares as at once, for every variant and seed', async () => {
    const variants = { fast: {}, slow: { selector: { learningRate: 0.001 } } };
    const selector = { ...tinySelector.selector, epochs: 1 };
    const cwd = tinyFolder({ selector, variants, seeds: [1, 2], evaluation: { beside: ['random'] } });
    const alone = await earshot(['train', 'tiny.yaml', '--runs', 'alone', '--json'], { cwd });
    expect(alone.code, alone.errors).toBe(0);
    // What the processes of --jobs 2 do. One after the other shows that neither needs what the other has in memory.
    const words = ['train', 'tiny.yaml', '--runs', 'shared', '--json'];
    for (const variant of ['slow', 'fast'])
      expect(await earshot([...words, '--variants', variant], { cwd })).toMatchObject({ code: 0 });
    const shared = await earshot(words, { cwd });
    expect(shared.errors).not.toContain('selecting');
    expect(shared.out).toBe(alone.out);
    for (const run of ['fast/seed-1', 'fast/seed-2', 'slow/seed-1', 'slow/seed-2'])
      expect(outcomeOf(join(cwd, 'shared/tiny', run))).toEqual(outcomeOf(join(cwd, 'alone/tiny', run)));
    expect(read(cwd, 'alone/tiny/report.md')).toContain('| **slow: selector** ');
    expect(outcomeOf(join(cwd, 'alone/tiny/fast/seed-1'))).not.toEqual(outcomeOf(join(cwd, 'alone/tiny/fast/seed-2')));
  });
});

describe('a selector’s run that is cut off', () => {
  /** Long enough to be met in the middle. */
  const long = {
    selector: { ...tinySelector.selector, epochs: 8 },
    evaluation: { beside: [] },
  };

  it('goes on after a kill and an interruption to the bytes of the run that nothing stopped', async () => {
    const cwd = tinyFolder(long);
    const train = ['train', 'tiny.yaml', '--runs', 'cut'];
    const run = runOf(cwd, 'cut');
    const killed = startProcess(train, { cwd });
    await until(() => logged(run) >= 2);
    killed.signal('SIGKILL');
    expect((await killed.outcome).code).toBe(null);
    expect(existsSync(join(run, 'result.json'))).toBe(false);

    const before = logged(run);
    const stopped = start(train, { cwd });
    await until(() => logged(run) > before);
    stopped.interrupt();
    const stop = await stopped.outcome;
    expect(stop).toMatchObject({ code: 130, out: '' });
    expect(stop.errors).toMatch(/earshot: stopped; give the same command again to go on\n$/);
    const resumed = await earshot(train, { cwd });
    expect(resumed.code, resumed.errors).toBe(0);
    for (const { errors } of [stop, resumed])
      expect(errors).toMatch(/resuming cut\/tiny\/agent\/seed-1 at iteration \d+ of \d+/);

    await trainHere(cwd);
    const expected = outcomeOf(runOf(cwd));
    expect(Object.keys(expected)).toContain('checkpoints/step-00000008.safetensors');
    expect(outcomeOf(run)).toEqual(expected);
  });

  it('goes on while systems are tested, and names a checkpoint that is cut', async () => {
    const cwd = tinyFolder({ evaluation: { beside: ['everything', 'random'] } });
    await trainHere(cwd);
    const run = runOf(cwd);
    const expected = outcomeOf(run);
    rmSync(join(run, 'result.json'));
    const decisions = readDecisions(run, selectorDecisionSchema);
    writeDecisions(
      run,
      decisions.filter(({ system }) => system !== 'random'),
    );
    const resumed = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(resumed.errors).toMatch(/resuming .* at iteration 3 of 3\n/);
    expect(resumed.errors).not.toContain('everything');
    expect(outcomeOf(run)).toEqual(expected);

    const last = join(run, 'checkpoints/step-00000003.safetensors');
    truncateSync(last, statSync(last).size - 100);
    rmSync(join(run, 'result.json'));
    const cut = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(cut.code).toBe(1);
    expect(cut.errors).toMatch(
      /step-00000003\.safetensors is corrupt: .*cut short.*delete it to go on from the checkpoint before/,
    );
    rmSync(last);
    await trainHere(cwd);
    expect(outcomeOf(run)).toEqual(expected);
  });
});
