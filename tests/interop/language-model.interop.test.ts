import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeWithModels } from '../../experiments/judging/judge-with-models.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { detectorFileFor } from './detector-files.ts';
import { type LanguageModelServer, startLanguageModel } from './language-model-server.ts';

let server: LanguageModelServer;
beforeAll(async () => {
  server = await startLanguageModel();
});
afterAll(() => server?.stop());

const threads = synthesizeThreads({ threads: 2, seed: 1 });

describe('a real language model behind a real server', () => {
  it('judges prefixes by one prompt: what is stored is what it said, everything else is a counted failure', async () => {
    const file = await detectorFileFor('single-prompt', { baseURL: server.baseURL });
    const store = AnnotationStore.open(':memory:');
    const { result, usage } = await judgeWithModels({ file, threads, store, maxPosts: 3, maxUnreadable: 1 });
    expect(result.asked + result.failed).toBe(6);
    expect(usage[0].requests).toBeGreaterThanOrEqual(6);
    for (const [, { judgement }] of store.getRows(store.keys())) {
      expect(['rumor', 'non-rumor']).toContain(judgement.label);
      const said = judgement.transcript.at(-1)?.text ?? '';
      // As a word, or as the only field of a JSON object, where the server takes schemas.
      const word = judgement.label === 'rumor' ? 'yes' : 'no';
      expect(said.toLowerCase()).toMatch(new RegExp(`^\\W*(?:answer\\W+)?${word}\\W*$`));
    }
    store.close();
  });
});
