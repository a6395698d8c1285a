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
import { DryRunChatService } from '../../../experts/llm/dry-run-chat-service.ts';
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
  'zofia on prefixes': {
    config: {
      name: 'zofia',
      models: { judge: model },
      analyses: 'prefix',
      use: { debate: false, expert: false },
      retrieval: { ...retrieval, query: 'core-claim', entities: { method: 'prompt-ner' } },
    },
    task: 'news',
  },
};

/** The first 16 digits of each hash. */
const pins: Record<string, object> = {
  'debate-council': {
    annotation: '067ec96109ac9eac',
    calls: '04cd3b09fc3cb00b',
    judgement: '0aa9a034932d3589',
    parts: '4f53cda18c2baa0c',
  },
  'debate-single': {
    annotation: '3bf06c049eb4ba28',
    calls: 'e163367b31f59ebd',
    judgement: 'a8a522f8cf8e0031',
    parts: '4f53cda18c2baa0c',
  },
  'debate-team': {
    annotation: '72c39f3a839a2e3d',
    calls: 'c3d150b4e90d1e4f',
    judgement: 'ff990217e176a8ce',
    parts: '4f53cda18c2baa0c',
  },
  s2mad: {
    annotation: 'a925e96f9ebf079d',
    calls: 'ff16485d51b851cd',
    judgement: 'd4895e070c305b27',
    parts: '36482f59278005e5',
  },
  's2mad without stances': {
    annotation: 'd14eaa8c3c2e3e2c',
    calls: '9ee3df0e23a5729f',
    judgement: '404b3c5358aa58d9',
    parts: 'f682f5521127055e',
  },
  'single-prompt as published': {
    annotation: 'a28a6cd762dc3ff9',
    calls: 'fb0eb0cbe1a3b761',
    judgement: 'e182b76fb088bcbc',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt': {
    annotation: '1fc00b9dc6085efc',
    calls: 'f6dfec42b1f0b3fc',
    judgement: 'ef42785639ce4557',
    parts: '4f53cda18c2baa0c',
  },
  'single-prompt on categories': {
    annotation: 'b64631c176462fdc',
    calls: 'f35e9ebca630659e',
    judgement: 'afd5eba0d81a464a',
    parts: '4f53cda18c2baa0c',
  },
  zofia: {
    annotation: '194ad642cdb7453b',
    calls: 'e81b9ad9b080349f',
    judgement: 'd9060ac2875faad7',
    parts: '3aaf32f6373713eb',
  },
  'zofia on prefixes': {
    annotation: '618920e2932d5f5b',
    calls: 'ea204a0e65b6bb42',
    judgement: '7c14ba681118c8ae',
    parts: '19b506290d2f3ddf',
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
