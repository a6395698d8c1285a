import { beforeAll, describe, expect, it } from 'vitest';
import { buildStateTable } from '../../envs/state-table.ts';
import { type JudgementSequence, judgementSequence } from '../../experts/judgement-sequence.ts';
import { growingStudentFeatures, studentFeatureCount } from '../../src/data/judgement-features.ts';
import { bayesPosterior, optimalStopping, synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { rumorTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { workContext } from '../../src/work-context.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import { stopProbabilities } from '../../trainers/stop-agent/policy.ts';
import { trainToEnd } from '../../trainers/trainer.ts';

beforeAll(() => selectBackend('onnx'));

const delayCost = 0.3;
const stream = { threads: 850, seed: 3 };
const judged = new Map<string, JudgementSequence>();

/** The stream's own posterior as the detector: no detector can be better, so the optimum is the agent's to reach. */
function judge(thread: Thread): JudgementSequence {
  const known = judged.get(thread.id);
  if (known) return known;
  const posterior = bayesPosterior(thread, stream);
  const judgements = Array.from(posterior, (rumor) => ({
    label: rumor > 0.5 ? 'rumor' : 'non-rumor',
    probabilities: { rumor, 'non-rumor': 1 - rumor },
    explanation: '',
    transcript: [],
    usage: { requests: 0, inputTokens: 0, outputTokens: 0 },
  }));
  const sequence = judgementSequence({ threadId: thread.id, labels: rumorTask.labels, judgements });
  judged.set(thread.id, sequence);
  return sequence;
}

/** The state holds what the posterior says, so that only the training is judged, not a student. */
function posteriorFeatures(thread: Thread): Float32Array {
  const { probabilities } = judge(thread);
  const next = growingStudentFeatures();
  return Float32Array.from(
    thread.posts.flatMap((_, step) => next([...probabilities.subarray(2 * step, 2 * step + 2)])),
  );
}

/** Mean reward of stops on threads: 1 for a right judgement, less the delay cost times the share of posts used. */
function reward(threads: readonly Thread[], stopOf: (thread: Thread, index: number) => number): number {
  const rewards = threads.map((thread, index) => {
    const step = Math.min(stopOf(thread, index), thread.posts.length - 1);
    const right = judge(thread).predicted[step] === rumorTask.goldLabel(thread);
    return Number(right) - (delayCost * (step + 1)) / thread.posts.length;
  });
  return rewards.reduce((sum, value) => sum + value, 0) / rewards.length;
}

describe('the stop agent on the synthetic stream', () => {
  it('comes close to the best stopping rule there is, and beats every fixed number of posts', async () => {
    const threads = synthesizeThreads(stream);
    for (const thread of threads) judge(thread);
    const [demonstrations, test] = [threads.slice(0, 50), threads.slice(50)];
    const tableOf = async (own: readonly Thread[]) =>
      buildStateTable({
        threads: await Promise.all(
          own.map(async (thread) => ({
            posts: thread.posts.length,
            embeddings: new Float32Array(0),
            features: posteriorFeatures(thread),
          })),
        ),
        dimensions: 0,
        featureCount: studentFeatureCount(rumorTask.labels.length),
        actionEmbeddings: [new Float32Array(0), new Float32Array(0)],
      });
    const labelled = demonstrations.map((thread, index) => {
      const { predicted, probabilities } = judge(thread);
      const gold = rumorTask.goldLabel(thread) ?? 0;
      return [
        index,
        {
          right: Uint8Array.from(predicted, (label) => Number(label === gold)),
          probability: Float32Array.from(predicted, (_, step) => probabilities[2 * step + gold]),
          isFinal: Uint8Array.from(predicted, (label) => Number(label === predicted[predicted.length - 1])),
          shareSeen: Float32Array.from(predicted, (_, step) => (step + 1) / predicted.length),
          queries: new Float32Array(predicted.length).fill(1),
          weight: 1,
        },
      ] as const;
    });
    const config = stopAgentSchema.parse({
      algorithm: 'exact-policy-gradient',
      iterations: 100,
      task: { delayCost, learningRate: 1e-3 },
    });
    const problem = {
      table: await tableOf(demonstrations),
      environment: new Int32Array(0),
      demonstrations: [],
      labelled: new Map(labelled),
    };
    const trainer = await createStopAgent({ seed: 1, config, problem });
    await trainToEnd(trainer, workContext());
    const policy = await trainer.policy();
    trainer.dispose();
    const stops = stopProbabilities(policy, await tableOf(test)).map((probabilities) => {
      const first = probabilities.findIndex((probability) => probability > 0.5);
      return first < 0 ? probabilities.length - 1 : first;
    });

    const best = optimalStopping({ ...stream, delayCostPerThread: delayCost }).expectedReward;
    const agent = reward(test, (_, index) => stops[index]);
    const fixed = Array.from({ length: 30 }, (_, step) => reward(test, () => step));
    expect(agent).toBeGreaterThan(Math.max(...fixed));
    expect(agent).toBeGreaterThan(best - 0.02);
  });
});
