import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Detector } from '../../../experts/detector.ts';
import { trainLocalDetector } from '../../../experts/detectors/local/train-local-detector.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { rumorTask as localTask } from '../../../src/data/task.ts';
import { prefixOf } from '../../../src/data/thread.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { categoryTask, detectorOf, role, rumorTask, startRoles } from './roles.ts';

const [training, threads] = [synthesizeThreads({ threads: 60, seed: 1 }), synthesizeThreads({ threads: 40, seed: 2 })];
const local = await trainLocalDetector({ threads: training, task: localTask, seed: 1 });

async function setUp(confidence: number, task = rumorTask): Promise<{ asked: () => number; detector: Detector }> {
  const server = await startRoles({ judge: 'Yes' });
  const path = join(temporaryFolder(), 'detector.json');
  local.save(path);
  const otherwise = { name: 'single-prompt' as const, model: role(server, 'judge', {}) };
  const detector = await detectorOf({ config: { name: 'cascade', first: path, confidence, otherwise }, task });
  return { asked: () => server.requests.length, detector };
}

it('asks the model for those prefixes alone on which the local detector is unsure', async () => {
  const { asked, detector } = await setUp(0.8);
  let unsure = 0;
  for (const thread of threads) {
    const prefix = prefixOf(thread, 2);
    const quick = await local.judge(prefix);
    const isSure = Math.max(...Object.values(quick.probabilities ?? {})) >= 0.8;
    if (!isSure) unsure++;
    const judgement = await detector.judge(prefix);
    if (isSure) expect(judgement).toEqual(quick);
    else expect(judgement).toMatchObject({ label: 'rumor', usage: { requests: 1 } });
    expect(asked()).toBe(unsure);
  }
  expect(unsure).toBeGreaterThan(0);
  expect(unsure).toBeLessThan(threads.length);
});

it('has a key of its own for each confidence', async () => {
  const [one, other] = [await setUp(0.8), await setUp(0.9)];
  expect(one.detector.options).not.toEqual(other.detector.options);
});

it('refuses detectors of two tasks', async () => {
  await expect(setUp(0.8, categoryTask)).rejects.toThrow(
    /^cascade: the first detector has the labels non-rumor, rumor, the other one .*; give detectors of one task$/,
  );
});
