import { join } from 'node:path';
import { z } from 'zod';
import { likeliest, stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { readJsonLines, writeJsonLines } from '../../src/json-file.ts';
import type { EpochSelection } from '../../trainers/selector/jsdrv.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';

/*
 * `last-selection.jsonl`: the claims and posts that the last epoch of a selector showed, retained or discarded, with what the
 * task models said of them. The texts are those of the threads and stay there.
 */

const fileName = 'last-selection.jsonl';

const item = {
  threadId: z.string(),
  label: z.string().describe('the human label where the selector sees one, else the machine’s'),
  labelledBy: z.enum(['human', 'machine']),
  confidence: z.number().describe('of the machine in its label; 1 for a human one'),
  retainProbability: z.number(),
  retained: z.boolean(),
  right: z
    .boolean()
    .nullable()
    .describe(
      'whether the machine label is that of the data, which the selector does not see; null where there is none',
    ),
  explanation: z.string(),
};
const lineSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('post'), postId: z.string(), ...item }),
  z.strictObject({ kind: z.literal('claim'), reward: z.number(), ...item }),
]);
export type LastSelectionItem = z.output<typeof lineSchema>;

export function writeLastSelection(
  directory: string,
  options: {
    selection: EpochSelection;
    claims: readonly SelectorClaim[];
    /** In the order of the claims. */
    threads: readonly Thread[];
  },
): void {
  writeJsonLines(join(directory, fileName), lastSelection(options));
}

/** Claims first, then posts, each in the order in which they were shown. */
export function lastSelection({
  selection,
  claims,
  threads,
}: Parameters<typeof writeLastSelection>[1]): LastSelectionItem[] {
  const shownClaims = selection.claims.map((own): LastSelectionItem => {
    const { claim, prediction, retainProbability, isRetained, reward } = own;
    const machine = likeliest(prediction.distribution);
    const human = claims[claim].label;
    const gold = veracityTask.goldLabel(threads[claim]);
    return {
      kind: 'claim',
      threadId: threads[claim].id,
      label: veracityClasses[human ?? machine],
      labelledBy: human === null ? 'machine' : 'human',
      confidence: human === null ? rounded(prediction.distribution[machine]) : 1,
      retainProbability: rounded(retainProbability),
      retained: isRetained,
      right: human !== null || gold === null ? null : gold === machine,
      explanation: prediction.explanation,
      reward: rounded(reward),
    };
  });
  const shownPosts = selection.posts.map(
    ({ claim, post, prediction, retainProbability, isRetained }): LastSelectionItem => {
      const machine = likeliest(prediction.distribution);
      const gold = replyStances(threads[claim])[post];
      return {
        kind: 'post',
        threadId: threads[claim].id,
        postId: threads[claim].posts[post + 1].id,
        label: stanceClasses[machine],
        labelledBy: 'machine',
        confidence: rounded(prediction.distribution[machine]),
        retainProbability: rounded(retainProbability),
        retained: isRetained,
        right: gold < 0 ? null : gold === machine,
        explanation: prediction.explanation,
      };
    },
  );
  return [...shownClaims, ...shownPosts];
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}

/** @throws InputError for a file that is missing or damaged */
export function readLastSelection(directory: string): LastSelectionItem[] {
  return readJsonLines(join(directory, fileName), lineSchema);
}
