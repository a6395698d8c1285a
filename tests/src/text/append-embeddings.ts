import { EmbeddingStore } from '../../../src/text/embedding-store.ts';
import { createHashingEncoder } from '../../../src/text/hashing-encoder.ts';

// A process of its own for the tests: embeds `count` texts that start with `prefix`, then says so.
const [directory, prefix, count] = process.argv.slice(2);
try {
  const store = await EmbeddingStore.open({ directory, encoder: createHashingEncoder({ dimensions: 64 }) });
  await store.embed(Array.from({ length: Number(count) }, (_, index) => `${prefix} ${index}`));
  console.log('done');
} catch (error) {
  console.log(error instanceof Error ? `${error.name}: ${error.message}` : error);
}
