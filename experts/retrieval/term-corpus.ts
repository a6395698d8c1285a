import { createHash } from 'node:crypto';
import { loadThreads } from '../../src/data/thread-file.ts';
import { type DocumentFrequencies, documentFrequencies } from './tf-idf.ts';

/** The claims of a threads file as documents. It is known by what it counts, not by where it lies. */
export async function loadTermCorpus(path: string): Promise<{ frequencies: DocumentFrequencies; sha256: string }> {
  const frequencies = documentFrequencies((await loadThreads(path)).map(({ posts }) => posts[0].text));
  const counted = [frequencies.documents, ...[...frequencies.of].sort(([one], [other]) => (one < other ? -1 : 1))];
  return { frequencies, sha256: createHash('sha256').update(JSON.stringify(counted)).digest('hex') };
}
