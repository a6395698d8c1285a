import { finishHash, mixIntoHash, scrambleWord } from '../../../src/text/murmur3.ts';

/** Which fold a thread belongs to: by its id alone, so that it stays there whatever else is trained on. */
export function holdOutFold(options: { threadId: string; folds: number }): number {
  const { threadId, folds } = options;
  let hash = 0;
  for (let index = 0; index < threadId.length; index++)
    hash = mixIntoHash(hash, scrambleWord(threadId.charCodeAt(index)));
  return (finishHash(hash, 4 * threadId.length) >>> 0) % folds;
}
