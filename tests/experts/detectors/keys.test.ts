import { expect, it } from 'vitest';
import { annotationRequest } from '../../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
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
    annotation: '6df6505816388773',
    calls: 'd8c884eaa67286dd',
    judgement: 'f59e1411fb2f13d6',
    parts: '4f53cda18c2baa0c',
  },
  'debate-single': {
    annotation: '8852a3824e411d8d',
    calls: '9972e55df7bf48ee',
    judgement: 'c47a60f2abe01f98',
    parts: '4f53cda18c2baa0c',
  },
  'debate-team': {
    annotation: '4708dd2f07dcdc33',
    calls: '530a81c159a7c543',
    judgement: '23da81e667fabaa7',
    parts: '4f53cda18c2baa0c',
  },
  s2mad: {
    annotation: 'fed58d2c237a8844',
    calls: '6d30175df5e290b1',
    judgement: '07d23ce1a0d90ed4',
    parts: '7a9f510605f67015',
  },
  's2mad without stances': {
    annotation: '23b445ff982cedf8',
    calls: '36fffdabd681d24d',
    judgement: 'a40f7b0555a114bd',
    parts: '245b17b18e09794d',
  },
  'single-prompt': {
    annotation: 'a3c29b547ac3caa0',
    calls: '23ae54b45cb1b369',
    judgement: '75dc5d79f8422f82',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt with reasons over random comments': {
    annotation: '7111f0382070c575',
    calls: 'acbb57e40b7d3eea',
    judgement: '7ada3ff97c015532',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt on categories': {
    annotation: '1c2c2d3bf7b278d2',
    calls: '2ebb23df84221d71',
    judgement: '77f025e89057b511',
    parts: '4f53cda18c2baa0c',
  },
  zofia: {
    annotation: '60dcac96a95ca20a',
    calls: 'a3f51d465c45f540',
    judgement: '243ff035362b6aeb',
    parts: '3000e4bb4a80c5cc',
  },
  'zofia without debate and expert': {
    annotation: 'ada25f592f48806b',
    calls: 'c3b356a1a3b7d1a2',
    judgement: 'cc525e74b6dbbf86',
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

it('an endpoint that no model names changes no key', async () => {
  const keyOf = async (endpoints: Record<string, typeof model>) => {
    const config = detectorSchema.parse({ name: 'single-prompt', model: 'a', endpoints });
    const detector = await createDetector({ config, task: await loadJudgingTask('rumor'), service: new Recording() });
    return sha256(annotationRequest({ detector, prefix: prefixOf(thread, 3) }));
  };
  const key = await keyOf({ a: model });
  expect(await keyOf({ a: model, b: { ...model, model: 'another' } })).toBe(key);
  expect(await keyOf({ a: { ...model, model: 'another' } })).not.toBe(key);
});
