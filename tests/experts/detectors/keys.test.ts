import { expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { annotationRequest } from '../../../experts/asking/annotation-request.ts';
import { askOnceIn } from '../../../experts/asking/ask-once.ts';
import { callKey } from '../../../experts/asking/call-journal.ts';
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
    annotation: '75b2c68a494cd486',
    calls: '225dbcb033cc83ff',
    judgement: '31b4b5b901ff0d15',
    parts: '4f53cda18c2baa0c',
  },
  'debate-single': {
    annotation: 'c18ea4f29a7bdd5a',
    calls: 'd16fc3c8b4c909df',
    judgement: 'c581bd62c8946f19',
    parts: '4f53cda18c2baa0c',
  },
  'debate-team': {
    annotation: '6cd7ae46f103a47b',
    calls: 'dda8381c6023f499',
    judgement: '08c64fff12fa3edc',
    parts: '4f53cda18c2baa0c',
  },
  s2mad: {
    annotation: '75b82f8d8c32772a',
    calls: 'd12e77162b1ac387',
    judgement: '2bed5ee3f7c62ec1',
    parts: '7a9f510605f67015',
  },
  's2mad without stances': {
    annotation: '05193c3f01dc689f',
    calls: '652b52d9d556fd27',
    judgement: 'f499f2bc21adb7b4',
    parts: '245b17b18e09794d',
  },
  'single-prompt as published': {
    annotation: 'a2c22d06aaac7ecb',
    calls: '83839c59bf825998',
    judgement: 'b647a6d486fa1610',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt': {
    annotation: 'a3c29b547ac3caa0',
    calls: '23ae54b45cb1b369',
    judgement: '75dc5d79f8422f82',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt with reasons over random comments': {
    annotation: 'b21433493da77831',
    calls: '5f6276100b2c5dd5',
    judgement: 'fc61cd0de716243a',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt on categories': {
    annotation: '1c2c2d3bf7b278d2',
    calls: '2ebb23df84221d71',
    judgement: '77f025e89057b511',
    parts: '4f53cda18c2baa0c',
  },
  zofia: {
    annotation: '39ba8daba11dc256',
    calls: 'feb1f6f4075a8702',
    judgement: 'e44a3a0abe5dd43b',
    parts: '3000e4bb4a80c5cc',
  },
  'zofia without debate and expert': {
    annotation: '6a33782922eb966f',
    calls: 'c5133ee43eb3f3e0',
    judgement: 'cebacb8afd1e6aab',
    parts: '3f28bd5b9daca666',
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
    askOnce: askOnceIn({ store }),
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

it.each([
  [{}, 'same'],
  [{ samples: 2 }, 'other'],
  [{ reading: 'published', prompt: 'published' }, 'other'],
] as const)('a longest answer of single-prompt with %j has the %s key', async (more, which) => {
  const keyOf = async (maxTokens: number, logprobs: 'auto' | 'on' | 'off') => {
    const config = { name: 'single-prompt' as const, model: { ...model, maxTokens, logprobs }, ...more };
    const task = await loadJudgingTask('rumor');
    const settings = { config: detectorSchema.parse(config), task, service: new Recording() };
    const detector = await createDetector(settings);
    return sha256(annotationRequest({ detector, prefix: prefixOf(thread, 3) }));
  };
  const key = await keyOf(8, 'auto');
  expect((await keyOf(80, 'off')) === key).toBe(which === 'same');
  expect(await keyOf(8, 'off')).toBe(key);
  // Every judgement has probabilities then.
  expect(await keyOf(8, 'on')).not.toBe(key);
});
