import { beforeAll, expect, it } from 'vitest';
import type { Judgement } from '../../../experts/detector.ts';
import { rumorTask } from '../../../src/data/task.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { workContext } from '../../../src/work-context.ts';
import { queryAgentSchema } from '../../../trainers/query-agent/config.ts';
import { decideQueries } from '../../../trainers/query-agent/policy.ts';
import { judgedThread, type PricedDetector, queryThread } from '../../../trainers/query-agent/query-thread.ts';
import { createQueryTrainer } from '../../../trainers/query-agent/trainer.ts';
import { trainToEnd } from '../../../trainers/trainer.ts';
import { testBackend } from '../../src/tensor/test-backend.ts';

beforeAll(async () => {
  await selectBackend(testBackend('onnx'));
});

/** The claim looks easy or hard; what is true stands in the third post. */
function thread(index: number): Thread {
  const rumor = index % 2 === 1;
  const isHard = index % 3 === 0;
  const texts = [`${isHard ? 'hard' : 'easy'} ${rumor && !isHard}`, 'so?', `${rumor}`, 'ok'];
  return {
    id: `thread-${index}`,
    event: null,
    veracity: null,
    rumor,
    posts: texts.map((text, post) => ({
      id: `${index}-${post}`,
      time: null,
      author: null,
      parent: null,
      text,
      stance: null,
    })),
  };
}

const judgement = (rumor: boolean, confidence: number, tokens: number): Judgement => ({
  label: rumor ? 'rumor' : 'non-rumor',
  probabilities: rumor
    ? { 'non-rumor': 1 - confidence, rumor: confidence }
    : { 'non-rumor': confidence, rumor: 1 - confidence },
  explanation: '',
  transcript: [],
  usage: { requests: 1, inputTokens: tokens, outputTokens: 0 },
});

const calls: string[] = [];
const byTokens = ({ usage }: Judgement) => usage.inputTokens / 1000;
const detectors: PricedDetector[] = [
  {
    // Reads the claim, and knows what it does not know.
    schedule: { name: 'lengths', lengths: [1] },
    async judge({ posts: [claim] }) {
      calls.push('claim');
      return judgement(claim.text.endsWith('true'), claim.text.startsWith('easy') ? 0.99 : 0.55, 10);
    },
    costOf: byTokens,
  },
  {
    // Right from the third post on.
    schedule: { name: 'step', posts: 3 },
    async judge({ posts }) {
      calls.push(`debate of ${posts.length}`);
      return posts.length < 3
        ? judgement(false, 0.6, 100)
        : judgement(posts[2].text === 'true', 0.9, 20 * posts.length);
    },
    costOf: byTokens,
  },
];
const asking = { task: rumorTask, detectors };

it('knows what may be asked where, what is said, and what the stored usage costs', async () => {
  const { lengths, judgements, gold } = await judgedThread(thread(3), asking);
  expect(lengths).toEqual([1, 3, 4]);
  expect(gold).toBe(1);
  expect(judgements.map((step) => step.map((own) => own?.cost ?? null))).toEqual([
    [0.01, 0.1],
    [null, 0.06],
    [null, 0.08],
  ]);
  expect(judgements[0][0]).toMatchObject({ label: 0, probabilities: [0.55, expect.closeTo(0.45)] });
});

it('asks for a debate where the claim does not tell, and only then', async () => {
  const threads = await Promise.all(Array.from({ length: 24 }, (_, index) => judgedThread(thread(index), asking)));
  const config = queryAgentSchema.parse({ iterations: 100, hidden: 8, delayCost: 0.1 });
  const trainer = createQueryTrainer({ threads, labels: 2, config, seed: 1 });
  await trainToEnd(trainer, workContext());
  const [policy] = await trainer.policies();
  trainer.dispose();

  calls.length = 0;
  const easy = await queryThread(policy, { thread: thread(31), ...asking });
  expect(calls).toEqual(['claim']);
  expect(easy).toMatchObject({ detector: 0, posts: 1, judgedPosts: 1, asks: [{ detector: 0, posts: 1, cost: 0.01 }] });
  expect(easy.judgement.label).toBe('rumor');

  calls.length = 0;
  const hard = await queryThread(policy, { thread: thread(33), ...asking });
  expect(calls).toEqual(['claim', 'debate of 3']);
  expect(hard).toMatchObject({ detector: 1, posts: 3, judgedPosts: 3 });
  expect(hard.judgement.label).toBe('rumor');

  // Replayed from all judgements it is the same.
  const [replayed] = await decideQueries(policy, { threads: [await judgedThread(thread(33), asking)], labels: 2 });
  expect(replayed).toMatchObject({ detector: 1, step: 1, judgedAt: 1 });
});
