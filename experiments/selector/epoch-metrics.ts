import { likeliest, stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { EpochSelection } from '../../trainers/selector/jsdrv.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';
import { scoresOf } from './metrics.ts';

/**
 * The metrics of one epoch, by name. `f1/…` compare machine labels with the labels that the selector sees. `hidden/…` compare
 * them with labels that it does not see, where the data has any: they measure the selection and have no influence on it.
 */
export function epochMetrics(options: {
  selection: EpochSelection;
  claims: readonly SelectorClaim[];
  /** In the order of the claims. */
  threads: readonly Thread[];
}): Record<string, number> {
  const { selection, claims, threads } = options;
  const posts = selection.posts.map((post) => ({
    ...post,
    machine: likeliest(post.prediction.distribution),
    gold: replyStances(threads[post.claim])[post.post],
  }));
  const shown = selection.claims.map((claim) => ({
    ...claim,
    machine: likeliest(claim.prediction.distribution),
    seen: claims[claim.claim].label,
    gold: veracityTask.goldLabel(threads[claim.claim]) ?? -1,
  }));
  const unlabelled = shown.filter(({ seen }) => seen === null);
  const labelled = shown.filter(({ seen }) => seen !== null);
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
      scoresOf({
        classes: veracityClasses,
        gold: labelled.map(({ seen }) => seen ?? -1),
        predicted: labelled.map(({ machine }) => machine),
      })?.values.macroF1 ?? null,
    ...hiddenMetrics('stance', posts, stanceClasses),
    ...hiddenMetrics('veracity', unlabelled, veracityClasses),
  };
  for (const [index, name] of stanceClasses.entries())
    metrics[`retained/posts/${name}`] = share(posts.filter(({ machine }) => machine === index));
  for (const [index, name] of veracityClasses.entries())
    metrics[`retained/claims/${name}`] = share(shown.filter(({ machine, seen }) => (seen ?? machine) === index));
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
  const known = items.filter(({ gold }) => gold >= 0);
  const isRight = ({ machine, gold }: Labelled) => Number(machine === gold);
  return {
    [`hidden/${name}F1`]:
      scoresOf({ classes, gold: known.map(({ gold }) => gold), predicted: known.map(({ machine }) => machine) })?.values
        .macroF1 ?? null,
    [`hidden/${name}Precision`]: mean(known.map(isRight)),
    [`hidden/${name}RetainedPrecision`]: mean(known.filter(({ isRetained }) => isRetained).map(isRight)),
  };
}

function share(items: readonly { readonly isRetained: boolean }[]): number | null {
  return mean(items.map(({ isRetained }) => Number(isRetained)));
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
