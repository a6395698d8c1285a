import { expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../../experts/asking/ask-once.ts';
import type { DetectorConfigInput } from '../../../experts/detectors/create-detector.ts';
import { DryRunChatService } from '../../../experts/llm/cost/dry-run-chat-service.ts';
import { loadJudgingTask } from '../../../experts/tasks/task-file.ts';
import type { Prefix } from '../../../src/data/thread.ts';
import { threadOf } from '../threads.ts';
import { detectorOf, prefix } from './roles.ts';

const model = { baseURL: 'http://localhost:1/v1', model: 'm' };
const retrieval = { entities: { method: 'patterns' as const }, cutoff: { date: '2018-03-01' } };

it.each<{ config: DetectorConfigInput; task: string; atLeast: number; atMost: number }>([
  { config: { name: 'single-prompt', model }, task: 'rumor', atLeast: 1, atMost: 1 },
  // Four scores, subjectivity, two opinions, two rounds of two; then the judge.
  { config: { name: 's2mad', models: { supporter: model } }, task: 'rumor', atLeast: 11, atMost: 12 },
  // Three votes; then five rounds of a summary and three votes. Votes that keep changing end in a tie.
  {
    config: { name: 'debate-council', models: { members: [model, model, model], chairperson: model } },
    task: 'rumor',
    atLeast: 3,
    atMost: 3 + 5 * 4,
  },
  // Linguist, triage, expert, extraction, one round of three; or three verifications and five rounds.
  {
    config: { name: 'zofia', models: { judge: model }, retrieval },
    task: 'news',
    atLeast: 5 + 2 + 1 + 3,
    atMost: 5 + 2 + 1 + 3 + 5 * 3,
  },
])('a dry run of $config.name tells the fewest and the most calls', async ({ config, task, atLeast, atMost }) => {
  const callsOf = (bound: 'lower' | 'upper') => calls({ config, task, bound, of: prefix(5) });
  expect(await callsOf('lower')).toBe(atLeast);
  expect(await callsOf('upper')).toBe(atMost);
});

it('a dry run counts what is asked about a claim without words', async () => {
  const config = { name: 'zofia' as const, models: { judge: model }, retrieval };
  const of = prefix(2, threadOf({ id: 'mute', texts: ['', 'What?'] }));
  // No name leads to a claim: linguist, triage, expert and extraction, then the rounds of three.
  expect(await calls({ config, task: 'news', bound: 'lower', of })).toBe(5 + 2 + 1 + 3);
  expect(await calls({ config, task: 'news', bound: 'upper', of })).toBeGreaterThan(5 + 2 + 1 + 3);
});

async function calls(question: {
  config: DetectorConfigInput;
  task: string;
  bound: 'lower' | 'upper';
  of: Prefix;
}): Promise<number> {
  const { config, task, bound, of } = question;
  const service = new DryRunChatService({ bound });
  const askOnce = askOnceIn({ store: AnnotationStore.open(':memory:') });
  const detector = await detectorOf({ config, task: await loadJudgingTask(task), service, askOnce });
  await detector.judge(of);
  return service.rows().reduce((sum, row) => sum + row.calls, 0);
}
