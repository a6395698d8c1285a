import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import { makeFolder, writeFileAtomically } from '../../src/atomic-file.ts';
import { groupBy } from '../../src/data/group-by.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { Decided, GreedySelection } from '../../trainers/selector/select-greedily.ts';
import { percent } from '../report/shown-numbers.ts';
import { checkReplies, loadSelectorThreads, selectorClaim } from './data.ts';
import { selectorResources } from './selector-resources.ts';
import { openSelectorRun, selectWithKept, trainingThreads } from './trained-selector.ts';

/**
 * Labels the claims and posts of a run's data or of other data, and writes the retained ones for training. Nothing is
 * drawn, so equal input gives equal bytes.
 */
export async function selectItems(options: {
  run: string;
  data: string | null;
  out: string;
  kind: 'posts' | 'claims' | 'both';
  /** Writes discarded items, too. */
  all: boolean;
  runs: string;
  budget: Partial<BudgetLimits>;
  context: WorkContext;
}) {
  const { run, data, out, kind, all, runs, budget, context } = options;
  checkItemFile(out);
  const resources = selectorResources({ runs });
  try {
    const opened = await openSelectorRun({ run, resources, budget, context });
    const { experiment, training } = opened;
    const threads =
      data === null
        ? await trainingThreads({ ...opened, context })
        : await loadSelectorThreads(data, { data: experiment.data, onNote: context.onNote });
    checkReplies(threads, { name: data ?? `the run ${run}` });
    const { settings, epoch } = training;
    const selections = await selectWithKept(opened, { claims: threads.map(selectorClaim), context });
    const humanLabels = new Map(settings.claims.map(({ threadId, label }) => [threadId, label]));
    const selected = threads.map((thread, index) =>
      selectedItems({ thread, selection: selections[index], humanLabel: humanLabels.get(thread.id) ?? null }),
    );
    const items = selected.flatMap(({ claim, posts }) => [
      ...(kind === 'posts' ? [] : [claim]),
      ...(kind === 'claims' ? [] : posts),
    ]);
    for (const labels of [selected.flatMap(({ posts }) => posts), selected.map(({ claim }) => claim)])
      for (const warning of checkLabels(labels)) context.onNote(`warning: ${warning}`);
    const written = all ? items : items.filter(({ retained }) => retained);
    writeItemFile(out, written);
    return {
      run,
      data,
      epochs: epoch,
      threads: threads.length,
      out,
      lines: written.length,
      ...selectionCounts({
        claims: selected.map(({ claim }) => claim),
        posts: selected.flatMap(({ posts }) => posts),
      }),
    };
  } finally {
    resources.close();
  }
}

/** Fewer items may well be of one class. */
const fewestChecked = 20;
const loudShare = 0.8;

/** Doubts about the labels. @throws InputError for labels of one class, or of a model that was never trained */
function checkLabels(items: readonly SelectedItem[]): string[] {
  const ofMachine = items.filter((item) => item.kind === 'post' || item.labelledBy === 'machine');
  if (ofMachine.length < fewestChecked) return [];
  const [{ kind, distribution }] = ofMachine;
  const what = `${ofMachine.length} ${kind}s with a weak label`;
  const undecided = ofMachine.filter((item) => new Set(Object.values(item.distribution)).size === 1);
  if (undecided.length * 2 > ofMachine.length)
    throw new InputError(
      `${undecided.length} of ${what} have the same probability for every class, and would all count as ${JSON.stringify(Object.keys(distribution)[0])}: the model was never trained; train the selector with labels for it`,
    );
  const [[name, most]] = [...groupBy(ofMachine, ({ label }) => label)].sort(
    ([, left], [, right]) => right.length - left.length,
  );
  if (most.length === ofMachine.length)
    throw new InputError(
      `all ${what} are ${JSON.stringify(name)}: nothing can be learnt from them; train its task model on labels of more classes`,
    );
  const lost = [...groupBy(ofMachine, ({ label }) => label)].filter(([, ofClass]) =>
    ofClass.every(({ retained }) => !retained),
  );
  return [
    ...(most.length < loudShare * ofMachine.length
      ? []
      : [`${percent(most.length / ofMachine.length)} of the ${what} are ${JSON.stringify(name)}`]),
    ...lost.map(
      ([label, { length }]) => `none of the ${length} ${kind}s labelled ${label} is retained: that class is lost`,
    ),
  ];
}

/** Checks the file before the hours of work that fill it. */
function checkItemFile(path: string): void {
  makeFolder(dirname(path));
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder || !/\.jsonl(\.gz)?$/.test(path))
    throw new InputError(
      `--out ${path}${isFolder ? ' is a directory' : ''}: give a file whose name ends in .jsonl, or in .jsonl.gz for gzip`,
    );
}

/** Writes one item per line, gzipped for a name in `.gz`. */
function writeItemFile(path: string, items: readonly unknown[]): void {
  const text = items.map((item) => `${JSON.stringify(item)}\n`).join('');
  writeFileAtomically(path, path.endsWith('.gz') ? gzipSync(text) : text);
}

interface Labelled {
  /** Confidence in the label; 1 for a human one. */
  readonly confidence: number;
  /** The model's probability of each class. */
  readonly distribution: Readonly<Record<string, number>>;
  /** The model's reason; empty if it argues for another label than the human one. */
  readonly explanation: string;
  readonly retainProbability: number;
  readonly retained: boolean;
}

export interface PostLine extends Labelled {
  readonly kind: 'post';
  readonly threadId: string;
  readonly postId: string;
  readonly claim: string;
  readonly text: string;
  readonly label: string;
}

export interface ClaimLine extends Labelled {
  readonly kind: 'claim';
  readonly threadId: string;
  readonly claim: string;
  readonly label: string;
  readonly labelledBy: 'human' | 'machine';
  /** Ids of the retained posts. */
  readonly posts: readonly string[];
}

export type SelectedItem = PostLine | ClaimLine;

/** The claim of a thread, then its replies in time order, with their weak labels and the selector's decisions. */
function selectedItems(options: {
  thread: Thread;
  selection: GreedySelection;
  /** Index of the gold veracity; null if the selector did not learn it. */
  humanLabel: number | null;
}): { claim: ClaimLine; posts: PostLine[] } {
  const { thread, selection, humanLabel } = options;
  const [{ text: claim }, ...replies] = thread.posts;
  const threadId = thread.id;
  const machine = likeliest(selection.claim.prediction.distribution);
  const isHuman = humanLabel !== null;
  const posts = replies.map(({ id, text }, index): PostLine => {
    const decided = selection.posts[index];
    const stance = likeliest(decided.prediction.distribution);
    return {
      kind: 'post',
      threadId,
      postId: id,
      claim,
      text,
      label: stanceClasses[stance],
      ...weakLabel(decided, stanceClasses),
    };
  });
  return {
    claim: {
      kind: 'claim',
      threadId,
      claim,
      label: veracityClasses[humanLabel ?? machine],
      labelledBy: isHuman ? 'human' : 'machine',
      ...weakLabel(selection.claim, veracityClasses),
      ...(isHuman && { confidence: 1 }),
      ...(isHuman && humanLabel !== machine && { explanation: '' }),
      posts: posts.filter(({ retained }) => retained).map(({ postId }) => postId),
    },
    posts,
  };
}

function weakLabel({ prediction, retainProbability, isRetained }: Decided, classes: readonly string[]): Labelled {
  const { distribution, explanation } = prediction;
  return {
    confidence: Math.max(...distribution),
    distribution: Object.fromEntries(classes.map((name, index) => [name, distribution[index]])),
    explanation,
    retainProbability,
    retained: isRetained,
  };
}

export type SelectionSummary = Awaited<ReturnType<typeof selectItems>>;

export interface Count {
  readonly shown: number;
  readonly retained: number;
}

function selectionCounts({ claims, posts }: { claims: readonly ClaimLine[]; posts: readonly PostLine[] }) {
  return {
    posts: { ...countOf(posts), byStance: countsByLabel(posts, stanceClasses) },
    claims: {
      ...countOf(claims),
      labelledByHuman: countOf(claims.filter(({ labelledBy }) => labelledBy === 'human')),
      byVeracity: countsByLabel(claims, veracityClasses),
    },
  };
}

function countsByLabel(
  items: readonly { readonly label: string; readonly retained: boolean }[],
  labels: readonly string[],
): Record<string, Count> {
  return Object.fromEntries(labels.map((label) => [label, countOf(items.filter((item) => item.label === label))]));
}

function countOf(items: readonly { readonly retained: boolean }[]): Count {
  return { shown: items.length, retained: items.filter(({ retained }) => retained).length };
}
