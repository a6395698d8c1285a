import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { earshot, threadLines, writeExperiment } from '../experiments/cli/command-line.ts';
import { startServer } from '../experts/llm/service.ts';
import { lastMessage } from '../llm-server/scripted-rule.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

vi.setConfig({ testTimeout: 180_000 });

const train = ['train', 'judged.yaml'];

/** An experiment with a detector file; `saysYes` may be changed between two commands. */
async function setUp() {
  const model = { saysYes: /fake hoax/ };
  const server = await startServer((body) => (model.saysYes.test(lastMessage(body)) ? 'Yes' : 'No'));
  const endpoint = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', logprobs: 'off' };
  const file = { detector: { name: 'single-prompt', model: endpoint }, task: 'rumor', retry: { maxAttempts: 1 } };
  const cwd = temporaryFolder({ 'threads.jsonl': threadLines(40), 'prompt.yaml': JSON.stringify(file) });
  writeExperiment(join(cwd, 'judged.yaml'), {
    name: 'judged',
    data: { threads: 'threads.jsonl' },
    split: { demonstrations: 12, environment: 8, test: 16 },
    detector: { file: 'prompt.yaml', annotations: 'judged.sqlite' },
  });
  const result = join(cwd, 'runs/judged/agent/seed-1/result.json');
  return { model, server, file, cwd, result };
}

const forget = (cwd: string) => {
  for (const ending of ['', '-wal', '-shm']) rmSync(join(cwd, `judged.sqlite${ending}`), { force: true });
};

describe('a finished run', () => {
  it('is not taken for one whose detector or whose judgements have changed', async () => {
    const { model, server, file, cwd, result } = await setUp();
    const first = await earshot(train, { cwd });
    expect(first.code, first.errors).toBe(0);
    const written = statSync(result).mtimeMs;
    const asked = server.requests.length;

    // What queries may cost changes no judgement.
    writeFileSync(join(cwd, 'prompt.yaml'), JSON.stringify({ ...file, budget: { requests: 999 } }));
    const again = await earshot(train, { cwd });
    expect(again.code, again.errors).toBe(0);
    expect(statSync(result).mtimeMs).toBe(written);

    const hotter = { ...file, detector: { ...file.detector, model: { ...file.detector.model, model: 'other' } } };
    writeFileSync(join(cwd, 'prompt.yaml'), JSON.stringify(hotter));
    const changed = await earshot(train, { cwd });
    expect(changed.code).toBe(1);
    expect(changed.errors).toMatch(
      /runs\/judged\/agent\/seed-1 already holds another run; it differs in hashes\.detector .*--restart to replace it/,
    );
    expect(server.requests).toHaveLength(asked);

    writeFileSync(join(cwd, 'prompt.yaml'), JSON.stringify(file));
    forget(cwd);
    const forgotten = await earshot(train, { cwd });
    expect(forgotten.code, forgotten.errors).toBe(0);
    expect(forgotten.errors).toMatch(/\d+ of the judgements that .* was trained on are no longer in the store/);
    expect(server.requests).toHaveLength(asked);

    model.saysYes = /./;
    await earshot(['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'prompt.yaml'], { cwd });
    const otherwise = await earshot(train, { cwd });
    expect(otherwise.code).toBe(1);
    expect(otherwise.errors).toMatch(/differs in hashes\.annotations .*--restart to replace it/);

    const anew = await earshot([...train, '--restart'], { cwd });
    expect(anew.code, anew.errors).toBe(0);
    expect(statSync(result).mtimeMs).not.toBe(written);
  });

  it('of another version is named as such, by train and by report', async () => {
    const { cwd, result } = await setUp();
    await earshot(train, { cwd });
    writeFileSync(result, JSON.stringify({ ...JSON.parse(readFileSync(result, 'utf8')), formatVersion: 1 }));
    for (const words of [train, ['report', 'judged.yaml']]) {
      const { code, errors } = await earshot(words, { cwd });
      expect(code).toBe(1);
      expect(errors).toMatch(
        /result\.json was made by another version of Earshot, or is damaged \(formatVersion: .*\): run again \(.*--restart\)/,
      );
    }
  });
});
