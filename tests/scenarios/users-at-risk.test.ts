import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { earshot, writeExperiment } from '../experiments/cli/command-line.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

vi.setConfig({ testTimeout: 180_000 });

/** What one user wrote in two chunks: from the third writing on, users at risk write otherwise. */
function chunk(user: number, part: number): string {
  const writings = [0, 1, 2].map((place) => {
    const isTold = user % 2 === 1 && part + place > 2;
    const date = `2016-03-0${part} 10:0${place}:00`;
    return `<WRITING><TITLE></TITLE><DATE>${date}</DATE><TEXT>${isTold ? 'cannot sleep' : 'fine day'} ${user}</TEXT></WRITING>`;
  });
  return `<INDIVIDUAL><ID>user${user}</ID>${writings.join('')}</INDIVIDUAL>`;
}

it('users of eRisk are imported, and raise alerts that sweeps maximise', async () => {
  const users = Array.from({ length: 120 }, (_, user) => user);
  const chunks = users.flatMap((user) =>
    [1, 2].map((part) => [`erisk/chunk${part}/user${user}_${part}.xml`, chunk(user, part)]),
  );
  const truth = users.map((user) => `user${user} ${user % 2}\n`).join('');
  const cwd = temporaryFolder({ ...Object.fromEntries(chunks), 'erisk/risk_golden_truth.txt': truth });
  const run = async (...words: string[]) => {
    const { code, out, errors } = await earshot(words, { cwd });
    expect([words, code, code === 0 ? '' : errors]).toEqual([words, 0, '']);
    return out;
  };
  expect(await run('data', 'import', 'erisk', 'erisk', '--out', 'users.jsonl')).toBe(
    '120 threads, 720 posts: users.jsonl\n',
  );
  const experiment = {
    name: 'risk',
    task: 'risk',
    alerts: [1],
    data: { threads: join(cwd, 'users.jsonl') },
    split: { detector: 40, demonstrations: 16, environment: 16, development: 20, test: 'rest' },
    state: { posts: 'none', observesDetector: true },
    agent: { algorithm: 'settled', hidden: 4, iterations: 10 },
    evaluation: { confidences: [0.8], firstPosts: [1, 3], schedules: [{ name: 'every' }] },
  };
  writeExperiment(join(cwd, 'risk.yaml'), experiment);
  const [{ trials: trained }] = JSON.parse(await run('train', 'risk.yaml', '--seeds', '1', '--json'));
  const [{ systems }] = trained;
  const allPosts = systems.find(({ name }: { name: string }) => name === 'all posts');
  expect(allPosts).toMatchObject({
    alertPrecision: 1,
    alertRecall: 1,
    latencyF1: expect.closeTo(0.5, 12),
    medianAlertPosts: 5,
  });
  // The third writing tells.
  expect(systems[0].medianAlertPosts).toBeLessThan(5);
  expect(systems[0].latencyF1).toBeGreaterThan(allPosts.latencyF1);

  const objective = { maximise: 'latencyF1 - erde5' };
  const sweep = { kind: 'sweep', name: 'by-latency', experiment: 'risk.yaml', seeds: [1], objective };
  writeFileSync(join(cwd, 'sweep.yaml'), JSON.stringify({ ...sweep, space: { 'agent.hidden': [2, 4] } }));
  await run('sweep', 'sweep.yaml');
  const [header, ...trials] = readFileSync(join(cwd, 'runs/by-latency/trials.csv'), 'utf8').trim().split('\n');
  const values = trials.map((line) =>
    Object.fromEntries(line.split(',').map((cell, place) => [header.split(',')[place], Number(cell)])),
  );
  expect(values).toHaveLength(2);
  for (const own of values)
    expect(own.objective).toBeCloseTo(own['development.latencyF1'] - own['development.erde5'], 12);
});
