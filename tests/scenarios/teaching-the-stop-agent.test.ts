import { beforeAll, describe, expect, it } from 'vitest';
import { buildStateTable } from '../../envs/state-table.ts';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../experts/asking/ask-once.ts';
import { loadJudgingTask } from '../../experts/tasks/task-file.ts';
import { demonstrationsOf, selectDemonstrations } from '../../experts/trajectories.ts';
import { rumorTask as goldTask } from '../../src/data/task.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { Random } from '../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../src/text/create-encoder.ts';
import { workContext } from '../../src/work-context.ts';
import { stopAgentSchema } from '../../trainers/stop-agent/config.ts';
import { createStopAgent } from '../../trainers/stop-agent/create.ts';
import type { Metrics } from '../../trainers/trainer.ts';
import { quotedIn } from '../experts/detectors/quoted.ts';
import { detectorOf, role, startRoles } from '../experts/detectors/roles.ts';
import { toyThreads } from '../experts/threads.ts';

const doubts = /unconfirmed|allegedly|hoax|doubt|fake/;

const config = stopAgentSchema.parse({
  iterations: 3,
  hidden: 6,
  imitation: {
    ppo: { stepsPerIteration: 24, epochs: 1, minibatches: 2 },
    discriminator: { hidden: 6, batchSize: 8, epochs: 1, warmupEpochs: 1, warmupIterations: 1 },
  },
  behaviorCloning: { epochs: 2, batchSize: 8 },
});

beforeAll(async () => {
  await selectBackend('wasm');
});

describe('the stop agent', () => {
  it("learns from s2mad's judgements as from any detector's", async () => {
    const task = await loadJudgingTask('rumor');
    const server = await startRoles({
      scorer: (body) => {
        const comment = quotedIn(body.messages[0].content, 'Comment').join();
        return JSON.stringify({ reason: 'r', score: doubts.test(comment) ? -0.5 : 0.5 });
      },
      debater: (body) => {
        // Whoever reads more doubts than not says rumor.
        const shown = body.messages[0].content.split('\n').filter((line) => /^\d+\. /.test(line));
        const doubtful = shown.filter((line) => doubts.test(line)).length;
        return `I see.\n${doubtful * 2 > shown.length ? 'rumor' : 'non-rumor'}`;
      },
      classifier: 'No',
      judge: (body) =>
        `So.\n${doubts.test(quotedIn(body.messages[0].content, 'Claim').join()) ? 'rumor' : 'non-rumor'}`,
    });
    const store = AnnotationStore.open(':memory:');
    const detector = await detectorOf({
      config: {
        name: 's2mad',
        models: {
          supporter: role(server, 'debater'),
          scorer: role(server, 'scorer'),
          classifier: role(server, 'classifier'),
          judge: role(server, 'judge'),
        },
        rounds: 1,
      },
      task,
      askOnce: askOnceIn({ store }),
    });
    expect(detector.labels).toEqual(goldTask.labels);

    const threads = toyThreads({ count: 8, seed: 3, posts: 4 });
    const annotated = await annotate({ threads, detector, store, concurrency: 4 });
    expect(annotated).toMatchObject({ asked: 32, failed: 0 });
    expect(await annotate({ threads, detector, store })).toMatchObject({ asked: 0, cached: 32 });

    const demonstrating = threads.map((thread) => ({
      sequence: annotated.sequences.get(thread.id)!,
      label: goldTask.goldLabel(thread)!,
    }));
    const random = Random.seeded({ seed: 1, purpose: 'demonstrations' });
    const { trajectories, imitation } = config;
    const demonstrations = selectDemonstrations(demonstrationsOf(demonstrating, trajectories), trajectories, {
      weights: imitation,
      shuffle: (length) => random.permutation(length),
    });
    expect(demonstrations.length).toBeGreaterThan(0);

    const encoder = await createEncoder(encoderSchema.parse({ name: 'hashing', dimensions: 16 }));
    const embed = (texts: readonly string[]) => encoder.encode(texts);
    const [proceed, stop] = await Promise.all([embed(['Continue.']), embed(['Stop.'])]);
    const table = buildStateTable({
      threads: await Promise.all(
        threads.map(async ({ posts }) => ({
          posts: posts.length,
          embeddings: await embed(posts.map(({ text }) => text)),
        })),
      ),
      dimensions: encoder.dimensions,
      actionEmbeddings: [proceed, stop],
    });
    const place = new Map(threads.map(({ id }, index) => [id, index]));
    const problem = {
      table,
      environment: Int32Array.from(threads.keys()),
      demonstrations: demonstrations.map(({ expert, threadId, stopStep }) => ({
        expert,
        thread: place.get(threadId)!,
        stopStep,
      })),
      labelled: new Map(),
    };
    const trainer = await createStopAgent({ seed: 1, config, problem });
    const metrics: Metrics[] = [];
    while (trainer.iteration < trainer.iterations) metrics.push(await trainer.iterate(workContext()));
    trainer.dispose();
    expect(metrics).toHaveLength(3);
    expect(metrics.flatMap((own) => Object.values(own)).every(Number.isFinite)).toBe(true);
  });
});
