import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { earshot, writeExperiment } from '../experiments/cli/command-line.ts';
import { saveDetector } from '../experiments/cli/saved-detector.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const classes = ['42', 'Ruhe & Ordnung', 'تصعيد', '🔥 "hot", 100%'];
const words = ['parcel late', 'all quiet', 'shouting now', 'fire fire'];
const text = (value: string) => `"${value.replaceAll('"', '""')}"`;

/** Conversations of four kinds, as many of each, whose replies tell which; those of the last kind name no outcome. */
function table({ threads, unlabelled = 0 }: { threads: number; unlabelled?: number }): string {
  const rows = Array.from({ length: threads + unlabelled }, (_, index) =>
    Array.from({ length: 5 }, (_, place) =>
      [
        `c${index}`,
        `c${index}-${place}`,
        `2024-03-01T10:0${place}:00Z`,
        text(place === 0 ? `hello ${index}` : `${words[index % 4]} ${place}`),
        index < threads ? text(classes[index % 4]) : '',
      ].join(','),
    ),
  );
  return `thread_id,id,created_at,text,outcome\n${rows.flat().join('\n')}\n`;
}

let cwd: string;
async function run(...args: string[]): Promise<string> {
  const { code, out, errors } = await earshot(args, { cwd });
  expect([args, code, code === 0 ? '' : errors]).toEqual([args, 0, '']);
  return out;
}

/** The classes of a run with the parts of its experiment, and those that its report has a column of. */
function classesOf(name: string): { decided: string[]; reported: string[] } {
  const { task } = JSON.parse(readFileSync(join(cwd, `runs/${name}/agent/seed-1/config.json`), 'utf8'));
  const report = readFileSync(join(cwd, `runs/${name}/report.md`), 'utf8');
  return { decided: task.classes, reported: task.classes.filter((own: string) => report.includes(`F1 ${own}`)) };
}

describe('labels of one’s own', () => {
  beforeEach(async () => {
    cwd = temporaryFolder({ 'posts.csv': table({ threads: 160, unlabelled: 120 }) });
    await run('data', 'import', 'csv', 'posts.csv', '--label', 'outcome', '--out', 'threads.jsonl');
  });

  it('are decided, reported, guaranteed and exported under their own names', async () => {
    await run('init', 'threads.jsonl', '--name', 'mine', '--yes');
    const recipe = readFileSync(join(cwd, 'mine.yaml'), 'utf8');
    expect(recipe).toContain(`task: { label: outcome, classes: ["42", Ruhe & Ordnung, تصعيد, '🔥 "hot", 100%'] }`);
    const trained = await run('train', 'mine.yaml', '--set', 'seeds=[1]');
    expect(trained).toMatch(/at most 5% of\s+predictions would change/);
    expect(classesOf('mine')).toEqual({ decided: classes, reported: classes });
    // Nothing of experts, which a settled agent does not learn from, and no words of a paper.
    const report = readFileSync(join(cwd, 'runs/mine/report.md'), 'utf8');
    expect(report).not.toMatch(/claim|expert|Demonstrations|cloning|\bER\b/);
    expect(report).toMatch(/stops at the first post whose score exceeds its threshold of 0\.\d+\./);
    await run('export', 'runs/mine/agent/seed-1', '--out', 'policy');
    const manifest = JSON.parse(readFileSync(join(cwd, 'policy/manifest.json'), 'utf8'));
    expect(manifest.task).toEqual({ name: 'outcome', labels: classes });
    const decided = await run('decide', 'threads.jsonl', '--policy', 'policy');
    const predicted = decided
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const right = predicted.filter(
      ({ threadId, prediction }) => prediction.label === classes[Number(threadId.slice(1)) % 4],
    );
    // A reply tells each class, and at most 5% of predictions change.
    expect(right.length).toBeGreaterThan(0.9 * predicted.length);
    expect(await run('report', 'runs/mine')).toContain('🔥 "hot", 100%');
    // The readers name the fields of a thread.
    const files = readdirSync(cwd, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    for (const path of files)
      if (!path.endsWith('.py') && !path.endsWith('threads.jsonl'))
        expect([path, /rumou?r/i.test(readFileSync(path, 'utf8'))]).toEqual([path, false]);
  });

  it('split, describe and test detectors by their name', async () => {
    expect(await run('data', 'describe', 'threads.jsonl')).toContain('outcome');
    const { parts } = JSON.parse(
      await run('data', 'split', 'threads.jsonl', '-p', 'a=0.5', '-p', 'b=rest', '-o', 'parts', '--json'),
    );
    expect(parts[0].labels).toEqual({ ...Object.fromEntries(classes.map((name) => [name, 20])), unlabelled: 60 });
    const tested = JSON.parse(await run('detect', 'threads.jsonl', '--train', '--task', 'outcome', '--json'));
    expect(tested).toMatchObject({ task: 'outcome', heldOut: { threads: 160 } });
    await saveDetector(cwd, { threads: 'threads.jsonl', path: 'd.json', task: 'outcome' });
    await run('annotate', 'threads.jsonl', '--store', 'a.sqlite', '--detector', 'd.json');
    expect(await run('annotations', 'list', 'a.sqlite', '--label', 'تصعيد', '--limit', '1')).toContain('تصعيد');
    const scores = JSON.parse(await run('detect', 'threads.jsonl', '--detector', 'd.json', '--at', 'all', '--json'));
    expect(Object.keys(scores[0].trials[0].at[0].byLabel).sort()).toEqual([...classes].sort());
  });

  it('are found by name alone, in a task file, or given in an order of their own', async () => {
    const settings = {
      name: 'own',
      data: { threads: join(cwd, 'threads.jsonl') },
      split: { detector: 60, demonstrations: 16, environment: 16, test: 'rest' },
      state: { posts: 'none', observesDetector: true },
      agent: { algorithm: 'settled', hidden: 8, iterations: 20 },
    };
    const ordered = [...classes].reverse();
    writeFileSync(join(cwd, 'task.yaml'), JSON.stringify({ name: 'outcome', labels: ordered }));
    for (const [name, task, expected] of [
      ['found', 'outcome', classes],
      ['file', join(cwd, 'task.yaml'), ordered],
      ['given', { label: 'outcome', classes: [42, ...classes.slice(1)] }, classes],
    ] as const) {
      writeExperiment(join(cwd, `${name}.yaml`), { ...settings, name, task });
      await run('train', `${name}.yaml`);
      expect(classesOf(name)).toEqual({ decided: expected, reported: expected });
    }
    const model = { baseURL: 'http://127.0.0.1:9', model: 'tiny' };
    const detector = (task: string) => JSON.stringify({ detector: { name: 'single-prompt', model }, task });
    writeFileSync(join(cwd, 'd.yaml'), detector('task.yaml'));
    await run('init', 'threads.jsonl', '--name', 'judged', '--detector', 'd.yaml', '--yes');
    expect(parse(readFileSync(join(cwd, 'judged.yaml'), 'utf8')).task.classes).toEqual(ordered);
    writeFileSync(join(cwd, 'other.yaml'), detector('rumor'));
    const { errors: other } = await earshot(['init', 'threads.jsonl', '--detector', 'other.yaml', '--yes'], { cwd });
    expect(other).toContain('other.yaml judges rumor, whose labels are non-rumor, rumor, and outcome has 42, Ruhe');
    const refused = async (task: unknown) => {
      writeExperiment(join(cwd, 'bad.yaml'), { ...settings, name: 'bad', task });
      const { code, errors } = await earshot(['train', 'bad.yaml'], { cwd });
      expect([code, errors]).toEqual([1, expect.stringContaining('earshot: ')]);
      return errors;
    };
    expect(await refused('outcom')).toContain('did you mean outcome?');
    expect(await refused({ label: 'outcome', classes: ['42'] })).toMatch(/task\.classes/);
    expect(await refused({ label: 'outcome', classes: classes.slice(0, 3) })).toContain('and the task knows 42, Ruhe');
  });

  it('with twenty-one values or one are no task', async () => {
    const rows = (values: readonly string[]) =>
      values
        .map((value, index) => `{"id":"${index}","labels":{"score":${value}},"posts":[{"id":"1","text":"x"}]}\n`)
        .join('');
    for (const [values, message] of [
      [Array.from({ length: 40 }, (_, index) => String(index)), 'has more than 20 different values'],
      [Array.from({ length: 40 }, () => 'true'), 'have the value "true"'],
    ] as const) {
      writeFileSync(join(cwd, 'odd.jsonl'), rows(values));
      writeExperiment(join(cwd, 'odd.yaml'), { name: 'odd', task: 'score', data: { threads: join(cwd, 'odd.jsonl') } });
      const { code, errors } = await earshot(['train', 'odd.yaml'], { cwd });
      expect([code, errors]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});
