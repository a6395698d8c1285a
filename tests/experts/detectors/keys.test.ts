import { expect, it } from 'vitest';
import { annotationRequest } from '../../../experts/annotate.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { callKey } from '../../../experts/annotations/kept-calls.ts';
import {
  createDetector,
  type DetectorConfigInput,
  detectorSchema,
} from '../../../experts/detectors/create-detector.ts';
import type { ChatRequest } from '../../../experts/llm/chat.ts';
import { DryRunChatService } from '../../../experts/llm/cost/dry-run-chat-service.ts';
import { loadJudgingTask } from '../../../experts/tasks/task-file.ts';
import { sha256 } from '../../../src/content-hash.ts';
import { prefixOf } from '../../../src/data/thread.ts';
import { keptPartsIn } from '../annotations/kept-parts.ts';
import { threadOf } from '../threads.ts';

/*
 * What people have paid for lies in their stores under these keys. A refactoring must not change them; a change that is
 * meant raises the detector's version, and the pins here.
 */

/** Pretends its answers and keeps what it was asked. */
class Recording extends DryRunChatService {
  readonly requests: ChatRequest[] = [];
  override chat(request: ChatRequest) {
    this.requests.push(request);
    return super.chat(request);
  }
}

const model = { baseURL: 'http://localhost:1/v1', model: 'm', temperature: 0.5 };
const retrieval = { entities: { method: 'patterns' as const }, cutoff: { date: '2018-03-01' } };
const thread = threadOf({
  id: 't',
  texts: ['Jamie Foxx marries Katie Holmes in Paris.', 'No, he does not!', 'Source?'],
});

const configs: Record<string, { config: DetectorConfigInput; task: string }> = {
  'single-prompt': { config: { name: 'single-prompt', model }, task: 'rumor' },
  'single-prompt as published': {
    config: { name: 'single-prompt', model, prompt: 'published', samples: 3 },
    task: 'rumor',
  },
  'single-prompt on categories': { config: { name: 'single-prompt', model }, task: 'checkthat4a' },
  s2mad: { config: { name: 's2mad', models: { supporter: model } }, task: 'rumor' },
  's2mad without stances': {
    config: { name: 's2mad', models: { supporter: model }, stanceSeparation: false, debate: false },
    task: 'veracity',
  },
  'debate-single': { config: { name: 'debate-single', models: { proponent: model } }, task: 'rumor' },
  'debate-team': {
    config: { name: 'debate-team', models: { proponents: [model, model], judge: model } },
    task: 'checkthat4a',
  },
  'debate-council': {
    config: { name: 'debate-council', models: { members: [model, model, model], chairperson: model } },
    task: 'rumor',
  },
  zofia: { config: { name: 'zofia', models: { judge: model }, retrieval }, task: 'news' },
  'zofia without debate and expert': {
    config: {
      name: 'zofia',
      models: { judge: model },
      use: { debate: false, expert: false },
      retrieval: { ...retrieval, query: 'core-claim', entities: { method: 'prompt-ner' } },
    },
    task: 'news',
  },
};

/** The first 16 digits of each hash. */
const pins: Record<string, object> = {
  'debate-council': {
    annotation: 'a583ed5e68e761e3',
    calls: '72fd79e2142ed796',
    judgement: 'fb7686d7c8765834',
    parts: '4f53cda18c2baa0c',
  },
  'debate-single': {
    annotation: 'cbf76671e8e2ed74',
    calls: '9b3e18eefd951100',
    judgement: '6ce9c2721dd1efd8',
    parts: '4f53cda18c2baa0c',
  },
  'debate-team': {
    annotation: 'ba5e3e045eeb0420',
    calls: '7431b6795a10aa59',
    judgement: '79edbedc3aa167ff',
    parts: '4f53cda18c2baa0c',
  },
  s2mad: {
    annotation: '2749fe3126d7e36c',
    calls: '772389d233a09d7a',
    judgement: '212f505c0ffd61f9',
    parts: 'b72ae78f92e7cb0f',
  },
  's2mad without stances': {
    annotation: 'bb0c871b71a9de7d',
    calls: '07dcaa91edc54364',
    judgement: '9c1f88b812efb61d',
    parts: '3aeeefa1367c9f8b',
  },
  'single-prompt as published': {
    annotation: 'a28a6cd762dc3ff9',
    calls: 'fb0eb0cbe1a3b761',
    judgement: 'e182b76fb088bcbc',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt': {
    annotation: 'df2c5fe62ea3c1c4',
    calls: 'b5e7dc619dc799a1',
    judgement: 'f5a5504f70a892d7',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt on categories': {
    annotation: '9ee9fcc9a6b33062',
    calls: '4b641c55e86f26b4',
    judgement: '2aed0cd73aabeb30',
    parts: '4f53cda18c2baa0c',
  },
  zofia: {
    annotation: 'eeab80df4e8f2040',
    calls: '98d29d033876f433',
    judgement: '14905a56be463db8',
    parts: '863e95fa2c55334c',
  },
  'zofia without debate and expert': {
    annotation: '6836cff30d10a611',
    calls: '18f53c7979885f91',
    judgement: '2839245ee44876c3',
    parts: '5c09a862bd6f49ec',
  },
};

it.each(Object.keys(configs))('%s keeps its keys and prompts', async (name) => {
  const { config, task } = configs[name];
  const service = new Recording();
  const store = AnnotationStore.open(':memory:');
  const detector = await createDetector({
    config: detectorSchema.parse(config),
    task: await loadJudgingTask(task),
    service,
    keptParts: keptPartsIn(store),
  });
  const prefix = prefixOf(thread, 3);
  const request = annotationRequest({ detector, prefix });
  const judgement = await detector.judge(prefix);
  expect({
    annotation: store.keyOf(request).slice(0, 16),
    calls: sha256(service.requests.map(callKey).sort()).slice(0, 16),
    parts: sha256(store.keys().sort()).slice(0, 16),
    judgement: sha256(judgement).slice(0, 16),
  }).toEqual(pins[name]);
});
