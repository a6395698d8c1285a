import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveDetectorsExperiment } from '../../experiments/detectors/experiment.ts';
import { splitItems } from '../../experiments/detectors/items.ts';
import { scoredTask } from '../../experiments/judging/gold-labels.ts';
import { loadCrossFitted } from '../../experiments/stop-agent/cross-fitting.ts';
import { resolveExperiment } from '../../experiments/stop-agent/experiment.ts';
import { splitParts } from '../../experiments/stop-agent/parts.ts';
import { trainLocalDetector } from '../../experts/detectors/local/train-local-detector.ts';
import { loadJudgingTask } from '../../experts/tasks/task-file.ts';
import { rumorTask } from '../../src/data/task.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import { sourceOfThreads } from '../../src/data/thread-source.ts';
import { earshot, threadLines, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { temporaryFolder, writeFiles } from '../src/data/fixtures.ts';

/** Labels as `earshot label` writes them: two of three chosen by margin, on threads whose texts mislead. */
const threads = threadLines(45)
  .split('\n')
  .slice(0, -1)
  .map((line, index): Thread => ({ ...JSON.parse(line), chosen: index % 3 === 0 ? 'random' : 'margin' }));
const fair = threads.filter(isFairTest).map(({ id }) => id);
const lines = threads.map((thread) => `${JSON.stringify(thread)}\n`).join('');

const small = { characterWeights: [1], l2: [1e-3], folds: 2 };
const quick = Object.entries(small).flatMap(([name, value]) => ['--set', `${name}=${JSON.stringify(value)}`]);

describe('labels that were chosen by margin', () => {
  it('train in a cross-validation, and are not tested', async () => {
    const cwd = temporaryFolder({ 'threads.jsonl': lines });
    const detect = ['detect', 'threads.jsonl', '--train', ...quick];
    const json = JSON.parse((await earshot([...detect, '--json'], { cwd })).out);
    expect(json.heldOut).toMatchObject({ threads: 15, chosen: 30 });
    const { out } = await earshot(detect, { cwd });
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      '15 of the 45 labelled threads test, because they were drawn at random. The other 30 were chosen by margin, or chose them',
    );
  });

  it('are not tested by training either, which says so', async () => {
    const cwd = temporaryFolder({ 'threads.jsonl': lines });
    writeExperiment(join(cwd, 'mine.yaml'), {
      ...{ name: 'mine', split: undefined, data: { threads: 'threads.jsonl' }, detector: small },
      crossFitting: { folds: 3, learningCurve: false },
      agent: { ...tiny.agent, algorithm: 'settled', iterations: 10, behaviorCloning: { epochs: 8 } },
      state: { posts: 'none', observesDetector: true },
      guarantee: { level: 0.3, method: 'cross-validation' },
    });
    const { code, out, errors } = await earshot(['train', 'mine.yaml'], { cwd });
    expect(code, errors).toBe(0);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('15 of the 45 labelled threads test');
    const run = join(cwd, 'runs/mine/agent/seed-1');
    const decided = readFileSync(join(run, 'decisions.jsonl'), 'utf8').trim().split('\n');
    expect(new Set(decided.map((line) => JSON.parse(line).item))).toEqual(new Set(fair));
    // All of them train what is shipped, and those that were drawn at random show its guarantee.
    expect(JSON.parse(readFileSync(join(cwd, 'runs/mine/policy/trained.json'), 'utf8'))).toHaveLength(45);
    const { guarantee } = JSON.parse(readFileSync(join(cwd, 'runs/mine/policy/manifest.json'), 'utf8'));
    expect(guarantee).toMatchObject({ threads: 15 });
    const fresh = await earshot(['evaluate', run, '--data', 'threads.jsonl', '--include-trained'], { cwd });
    expect(fresh.code, fresh.errors).toBe(0);
    expect(fresh.errors).toContain('30 of 45 labelled threads were chosen by margin');
  });

  it('are in no test part', async () => {
    const experiment = resolveExperiment(
      { ...tiny, split: { ...tiny.split, test: 'rest', detector: 10, demonstrations: 6, environment: 6 } },
      'x',
    );
    const parts = splitParts(sourceOfThreads(threads).threads, experiment, 1);
    expect(parts.test.length).toBeGreaterThan(3);
    expect(parts.test.every(isFairTest)).toBe(true);
    expect(parts.detector.some((thread) => !isFairTest(thread))).toBe(true);
    const detectors = resolveDetectorsExperiment(
      {
        kind: 'detectors',
        name: 'x',
        data: { threads: 'x' },
        detector: { name: 'local' },
        split: { train: 20, test: 'rest' },
      },
      'x',
    );
    const { test } = splitItems(threads, {
      experiment: detectors,
      seed: 1,
      task: scoredTask(await loadJudgingTask('rumor')),
    });
    expect(test.length).toBeGreaterThan(3);
    expect(test.every(isFairTest)).toBe(true);
  });

  it('are left out where a detector file or a saved detector is scored', async () => {
    const detector = await trainLocalDetector({ threads, task: rumorTask, seed: 1, options: small });
    expect(detector.model.training.heldOut).toMatchObject({ threads: 15, chosen: 30 });
    const cwd = temporaryFolder();
    writeFiles(cwd, { 'threads.jsonl': lines });
    detector.save(join(cwd, 'detector.json'));
    const words = ['detect', 'threads.jsonl', '--detector', 'detector.json', '--at', 'all', '--json'];
    const { out, errors } = await earshot(words, { cwd });
    expect(errors).toContain(
      '30 of 45 labelled threads were chosen by margin, or chose them, and are harder than others; only the other 15 test',
    );
    expect(JSON.parse(out)[0].trials[0].at[0].items).toBe(15);
  });

  it('cannot be all labels of a test', async () => {
    const all = threads.map((thread) => `${JSON.stringify({ ...thread, chosen: 'margin' })}\n`).join('');
    const cwd = temporaryFolder({ 'threads.jsonl': all });
    const data = { threads: 'threads.jsonl' };
    const split = { ...tiny.split, detector: 10, demonstrations: 6, environment: 6 };
    writeExperiment(join(cwd, 'agent.yaml'), { name: 'agent', data, split });
    const detector = { name: 'local', ...small };
    const panel = { kind: 'detectors', name: 'panel', data, detector, split: { train: 20 } };
    writeFiles(cwd, { 'panel.yaml': JSON.stringify(panel) });
    for (const file of ['agent.yaml', 'panel.yaml']) {
      const { code, errors } = await earshot(['train', file], { cwd });
      expect({ file, code }).toEqual({ file, code: 1 });
      expect(errors).toContain('the test part has no label that was drawn at random');
    }
  });

  it('cannot be all labels of a fold', async () => {
    const experiment = resolveExperiment({ ...tiny, split: undefined, crossFitting: { folds: 3 } }, 'x');
    const all = threads.map((thread): Thread => ({ ...thread, chosen: 'margin' }));
    await expect(loadCrossFitted(sourceOfThreads(all), { experiment, seed: 1 })).rejects.toThrow(
      'fold 1 of 3 has no label that was drawn at random',
    );
  });
});
