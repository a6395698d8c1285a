import { expect, it } from 'vitest';
import { annotationRequest } from '../../../experts/annotate.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { callKey } from '../../../experts/annotations/call-key.ts';
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
import { sharedPartsOf } from '../annotations/shared-parts.ts';
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
  'single-prompt with reasons over random comments': {
    config: { name: 'single-prompt', model, reasons: true, comments: 1 },
    task: 'rumor',
  },
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
    annotation: '1ffd43a697cff920',
    calls: '6e2f4e8c2709edbc',
    judgement: '7680948dec90d224',
    parts: '4f53cda18c2baa0c',
  },
  'debate-single': {
    annotation: 'd2d40338b3a94c5e',
    calls: '9c3a3cf7f218f839',
    judgement: 'f34ceb17c86994d1',
    parts: '4f53cda18c2baa0c',
  },
  'debate-team': {
    annotation: '00b3ca431c214064',
    calls: '02e8d698e2c91383',
    judgement: 'c9443233c10c6e7c',
    parts: '4f53cda18c2baa0c',
  },
  s2mad: {
    annotation: '21b8f8cda6c3dd8c',
    calls: '88ce062698fa6509',
    judgement: 'fbf4656537053031',
    parts: '08b1b61f2e8d895f',
  },
  's2mad without stances': {
    annotation: 'fd57530f9c0f6760',
    calls: '7b0534e42c9bc270',
    judgement: 'adeb850362b477b5',
    parts: '3c840b0b1024b0e3',
  },
  'single-prompt as published': {
    annotation: '634857c65998d33f',
    calls: 'eaf3ed06b6cf1b9f',
    judgement: 'e182b76fb088bcbc',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt': {
    annotation: '076c9c744c8c1d59',
    calls: '36c6bcace4202b2e',
    judgement: 'f5a5504f70a892d7',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt with reasons over random comments': {
    annotation: 'a046cbd2da78b1d7',
    calls: '94380948a6c94a2d',
    judgement: '8e0f8caaa2d9e96d',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt on categories': {
    annotation: 'f95778556fa4e019',
    calls: 'e655064ee1fc5caa',
    judgement: '2aed0cd73aabeb30',
    parts: '4f53cda18c2baa0c',
  },
  zofia: {
    annotation: '004216d0ad8c3378',
    calls: '352326f842845f05',
    judgement: '4db7671f2d65ad89',
    parts: '863e95fa2c55334c',
  },
  'zofia without debate and expert': {
    annotation: 'fbf8331703b56cda',
    calls: '350e9b40d7d88c72',
    judgement: '0f76b86ed1d227f2',
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
    sharedParts: sharedPartsOf(store),
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
