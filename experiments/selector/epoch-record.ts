import { join } from 'node:path';
import { z } from 'zod';
import { stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { readJsonLines, writeJsonLines } from '../../src/json-file.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { EpochSelection } from '../../trainers/selector/jsdrv.ts';
import type { Decided } from '../../trainers/selector/select-greedily.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';
import { taskScoresOf } from './scores.ts';

/*
 * What an epoch leaves behind: its metrics, and of the last one, in `last-selection.jsonl`, every claim and post that was shown,
 * retained or discarded, with what the task models said of it. Texts are those of the threads and stay there.
 */

interface Epoch {
  readonly selection: EpochSelection;
  readonly claims: readonly SelectorClaim[];
  readonly threads: readonly Thread[];
}

/**
 * Metrics of one epoch by name. `f1/…` compares weak labels with labels that the selector sees, `hidden/…` with labels
 * that it does not see and that never influence it.
 */
export function epochMetrics({ selection, claims, threads }: Epoch): Record<string, number> {
  const posts = selection.posts.map((post) => ({
    ...post,
    machine: likeliest(post.prediction.distribution),
    gold: replyStances(threads[post.claim])[post.post],
  }));
  const shown = selection.claims.map((claim) => ({
    ...claim,
    machine: likeliest(claim.prediction.distribution),
    human: claims[claim.claim].label,
    gold: veracityTask.goldLabel(threads[claim.claim]) ?? -1,
  }));
  const unlabelled = shown.filter(({ human }) => human === null);
  const labelled = shown.filter(({ human }) => human !== null);
  const metrics: Record<string, number | null> = {
    'reward/claims': mean(shown.map(({ reward }) => reward)),
    'reward/labelledClaims': mean(labelled.map(({ reward }) => reward)),
    'reward/unlabelledClaims': mean(unlabelled.map(({ reward }) => reward)),
    'reward/posts': posts.length === 0 ? null : selection.meanPostReward,
    'shown/posts': posts.length,
    'shown/claims': shown.length,
    'retained/posts': share(posts),
    'retained/claims': share(shown),
    'retained/unlabelledClaims': share(unlabelled),
    'f1/veracityOfLabelled':
      taskScoresOf({
        classes: veracityClasses,
        gold: labelled.map(({ human }) => human ?? -1),
        predicted: labelled.map(({ machine }) => machine),
      })?.values.macroF1 ?? null,
    ...hiddenMetrics('stance', posts, stanceClasses),
    ...hiddenMetrics('veracity', unlabelled, veracityClasses),
  };
  for (const [index, name] of stanceClasses.entries())
    metrics[`retained/posts/${name}`] = share(posts.filter(({ machine }) => machine === index));
  for (const [index, name] of veracityClasses.entries())
    metrics[`retained/claims/${name}`] = share(shown.filter(({ machine, human }) => (human ?? machine) === index));
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

interface Labelled {
  readonly machine: number;
  readonly gold: number;
  readonly isRetained: boolean;
}

function hiddenMetrics(name: string, items: readonly Labelled[], classes: readonly string[]) {
  const withGold = items.filter(({ gold }) => gold >= 0);
  const isRight = ({ machine, gold }: Labelled) => Number(machine === gold);
  return {
    [`hidden/${name}F1`]:
      taskScoresOf({
        classes,
        gold: withGold.map(({ gold }) => gold),
        predicted: withGold.map(({ machine }) => machine),
      })?.values.macroF1 ?? null,
    [`hidden/${name}Precision`]: mean(withGold.map(isRight)),
    [`hidden/${name}RetainedPrecision`]: mean(withGold.filter(({ isRetained }) => isRetained).map(isRight)),
  };
}

function share(items: readonly { readonly isRetained: boolean }[]): number | null {
  return mean(items.map(({ isRetained }) => Number(isRetained)));
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

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
    .describe('whether the weak label is that of the data, which the selector does not see; null where there is none'),
  explanation: z.string(),
};
const lineSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('post'), postId: z.string(), ...item }),
  z.strictObject({ kind: z.literal('claim'), reward: z.number(), ...item }),
]);
export type LastSelectionItem = z.output<typeof lineSchema>;

export function writeLastSelection(directory: string, epoch: Epoch): void {
  writeJsonLines(join(directory, fileName), lastSelection(epoch));
}

/** Claims, then posts, in the order of the epoch. */
function lastSelection({ selection, claims, threads }: Epoch): LastSelectionItem[] {
  return [
    ...selection.claims.map(({ claim, reward, ...shown }): LastSelectionItem => {
      const gold = veracityTask.goldLabel(threads[claim]) ?? -1;
      const label = labelled(shown, { classes: veracityClasses, human: claims[claim].label, gold });
      return { kind: 'claim', threadId: threads[claim].id, ...label, reward: rounded(reward) };
    }),
    ...selection.posts.map(({ claim, post, ...shown }): LastSelectionItem => {
      const { id: threadId, posts } = threads[claim];
      const gold = replyStances(threads[claim])[post];
      const label = labelled(shown, { classes: stanceClasses, human: null, gold });
      return { kind: 'post', threadId, postId: posts[post + 1].id, ...label };
    }),
  ];
}

function labelled(
  { prediction, retainProbability, isRetained }: Decided,
  { classes, human, gold }: { classes: readonly string[]; human: number | null; gold: number },
) {
  const { distribution, explanation } = prediction;
  const machine = likeliest(distribution);
  return {
    label: classes[human ?? machine],
    labelledBy: human === null ? ('machine' as const) : ('human' as const),
    confidence: human === null ? rounded(distribution[machine]) : 1,
    retainProbability: rounded(retainProbability),
    retained: isRetained,
    right: human !== null || gold < 0 ? null : gold === machine,
    explanation,
  };
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}

/** @throws InputError for a missing or damaged file */
export function readLastSelection(directory: string): LastSelectionItem[] {
  return readJsonLines(join(directory, fileName), lineSchema);
}
