import { parseArgs } from 'node:util';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { createSinglePrompt, singlePromptOptionsSchema } from '../../experts/detectors/single-prompt.ts';
import { LiveChatService } from '../../experts/llm/sending/live-chat-service.ts';
import { loadJudgingTask } from '../../experts/tasks/task-file.ts';
import { Random } from '../../src/tensor/random.ts';
import { numberedThreads } from './threads.ts';

/** A process of its own, so that it can be killed. */
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: '' },
    url: { type: 'string', default: '' },
    threads: { type: 'string' },
  },
});
const service = new LiveChatService({ random: Random.seeded({ seed: 1, purpose: 'jitter' }), env: {} });
const model = { name: 'scripted', baseURL: values.url, model: 'tiny', logprobs: 'off' } as const;
const detector = createSinglePrompt({
  options: singlePromptOptionsSchema.parse({ name: 'single-prompt', model }),
  task: await loadJudgingTask('rumor'),
  service,
});
const store = AnnotationStore.open(values.store);
const { asked, cached, failed } = await annotate({
  threads: numberedThreads(Number(values.threads)),
  detector,
  store,
  concurrency: 4,
});
store.close();
process.stdout.write(JSON.stringify({ asked, cached, failed }));
