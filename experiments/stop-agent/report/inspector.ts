import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { conservativeStop, earlyActionStop, misleadingStop } from '../../../experts/trajectories.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { present } from '../../../src/present.ts';
import { imitatesExperts } from '../../../trainers/stop-agent/config.ts';
import type {
  Debate,
  InspectedThread,
  InspectorData,
  InspectorView,
  ShownSystem,
  ShownThread,
} from '../../report/page/page-data.ts';
import type { Block, ReportSection } from '../../report/report.ts';
import { readJudged } from '../decided-files.ts';
import { type Decision, isLearnt, isShown, type SystemDecisions, type TestThread } from '../decisions.ts';
import { thresholdOf } from '../operating-point.ts';
import { isCrossFitted, type TrialResult } from '../result.ts';
import { debatesOf, type ReadRun } from './read-runs.ts';

/** A run as the inspector needs it. */
export interface InspectedRun extends Pick<ReadRun, 'variant' | 'judged' | 'threads' | 'stopProbabilities'> {
  readonly seed: number;
  /** Where the agent stops in a thread: the score has to exceed this. */
  thresholdOf(threadId: string): number;
  /** Whether the agent learnt from experts. */
  readonly imitates: boolean;
  /** The agent first. */
  readonly systems: readonly SystemDecisions[];
  /** By thread; empty where the detector does not talk. */
  readonly debates: ReadonlyMap<string, readonly Debate[]>;
}

/** About what a browser opens at once and a mail carries: with charts and style the page stays below 5 MB. */
const bytesAtMost = 4e6;
const fewestPosts = 5;

/**
 * The data of the inspector: one view for all runs of a seed whose detector predicted the same of the same threads, so that their
 * agents stand side by side. As many seeds as fit, the first at least; where that alone would make the page too large, later posts
 * of long threads are left out.
 */
export function inspectorData(
  runs: readonly InspectedRun[],
  task: { labels: readonly string[]; alerts?: readonly string[] | undefined },
): InspectorData {
  const bySeed = [...groupBy(runs, ({ seed }) => seed).values()];
  // There may be more threads than a call takes arguments.
  let limit = runs.flatMap(({ judged }) => judged).reduce((most, { hours }) => Math.max(most, hours.length), 0);
  for (let seeds = bySeed.length; ; ) {
    const data = dataOf(bySeed, { ...task, seeds, limit });
    const isSmallest = seeds === 1 && limit <= fewestPosts;
    if (isSmallest || Buffer.byteLength(JSON.stringify(data)) <= bytesAtMost) return data;
    if (seeds > 1) seeds--;
    else limit = Math.max(fewestPosts, Math.floor(limit / 1.5));
  }
}

/** @param options.limit posts of a thread */
function dataOf(
  bySeed: readonly (readonly InspectedRun[])[],
  options: { labels: readonly string[]; alerts?: readonly string[] | undefined; seeds: number; limit: number },
): InspectorData {
  const { labels, alerts, seeds, limit } = options;
  const shown = bySeed.slice(0, seeds);
  const threads = new Map<string, ShownThread>();
  for (const { judged, threads: whole } of shown.flat())
    for (const thread of judged)
      if (!threads.has(thread.threadId))
        threads.set(thread.threadId, shownThread(thread, { thread: whole.get(thread.threadId) ?? null, limit }));
  const places = new Map(Array.from(threads.keys(), (id, place) => [id, place]));
  const several = bySeed.some(({ length }) => length > 1);
  const views = shown.flatMap((runs) =>
    Array.from(groupBy(runs, judgementsOf).values(), (alike) => view(alike, { places, limit, several })),
  );
  return {
    labels,
    alerts: alerts?.map((alert) => labels.indexOf(alert)) ?? null,
    threads: [...threads.values()],
    views,
    leftOutSeeds: bySeed.slice(seeds).map(([{ seed }]) => seed),
  };
}

/** Identifies the threads and predictions of a run: runs with equal ones stand in one view. */
function judgementsOf({ judged }: InspectedRun): string {
  return JSON.stringify(judged.map(({ threadId, sequence }) => [threadId, [...sequence.predicted]]));
}

function shownThread(
  { threadId, goldLabel, hours }: TestThread,
  { thread, limit }: { thread: Thread | null; limit: number },
): ShownThread {
  return {
    id: threadId,
    event: thread?.event ?? null,
    gold: goldLabel,
    posts: hours.length,
    time: thread?.posts[0].time ?? null,
    hours: hours.slice(0, limit).map((hour) => (hour === null ? null : rounded(hour, 3))),
    texts: thread === null ? null : thread.posts.slice(0, limit).map(({ text }) => text),
  };
}

function view(
  runs: readonly InspectedRun[],
  { places, limit, several }: { places: ReadonlyMap<string, number>; limit: number; several: boolean },
): InspectorView {
  const all = runs.flatMap(({ variant, systems: [agent, ...others] }, index) => [
    shownSystem(agent, { name: several ? variant : agent.name, isAgent: true }),
    ...others
      .filter(({ name }) => isShown(name) && (index === 0 || isLearnt(name)))
      .map((run) =>
        shownSystem(run, {
          name: several && isLearnt(run.name) ? `${run.name}: ${variant}` : run.name,
          isAgent: false,
        }),
      ),
  ]);
  // The agents stand first.
  all.sort((a, b) => Number(b.shown.kind === 'agent') - Number(a.shown.kind === 'agent'));
  const rows = runs[0].judged.map(({ threadId, goldLabel, sequence }): InspectedThread => {
    const decided = all.map(({ decisions }) => decisions.get(threadId)!);
    const { predicted, confidence } = sequence;
    const ofAgents = decided.slice(0, runs.length);
    const disagreement = (agent: (typeof decided)[number]) => {
      const rivals = decided.filter((other, index) => other !== agent && all[index].shown.kind !== 'bound');
      const others = rivals.filter((other) => other.predicted !== agent.predicted);
      return rivals.length === 0 ? 0 : rounded(others.length / rivals.length, 3);
    };
    const mistake = (agent: (typeof decided)[number]) => {
      const sure = confidence[Math.min(agent.postsUsed, confidence.length) - 1];
      return agent.predicted === goldLabel ? 0 : Number.isNaN(sure) ? 1 : rounded(sure, 3);
    };
    return {
      thread: places.get(threadId)!,
      predicted: Array.from(predicted.slice(0, limit)),
      confidence: Array.from(confidence.slice(0, limit), (value) => (Number.isNaN(value) ? null : rounded(value, 2))),
      stopProbability: runs.map(
        ({ stopProbabilities }) =>
          stopProbabilities
            ?.get(threadId)
            ?.slice(0, limit)
            .map((value) => rounded(value, 4)) ?? null,
      ),
      thresholds: runs.map(({ thresholdOf }) => thresholdOf(threadId)),
      stops: decided.map(({ postsUsed }) => postsUsed - 1),
      answers: decided.map((decision) => decision.predicted),
      ...(runs.some(({ imitates }) => imitates) && {
        experts: {
          conservative: conservativeStop(predicted, goldLabel),
          earlyAction: earlyActionStop(predicted, goldLabel),
          misleading: misleadingStop(predicted, goldLabel),
        },
      }),
      mistakes: ofAgents.map(mistake),
      disagreements: ofAgents.map(disagreement),
      debates: runs
        .flatMap(({ debates }) => debates.get(threadId) ?? [])
        .filter((debate, index, all) => all.findIndex(({ posts }) => posts === debate.posts) === index),
    };
  });
  const [{ seed }] = runs;
  return { seed, systems: all.map(({ shown }) => shown), rows };
}

function shownSystem(
  { queries, decisions }: SystemDecisions,
  { name, isAgent }: { name: string; isAgent: boolean },
): { shown: ShownSystem; decisions: ReadonlyMap<string, Decision> } {
  const kind = queries === 'oracle' ? 'bound' : isAgent ? 'agent' : 'rule';
  return { shown: { name, kind }, decisions: new Map(decisions.map((decision) => [decision.threadId, decision])) };
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** Where the script builds the inspector, and what is missing there. */
export function inspectorSection(data: InspectorData, notes: readonly string[]): ReportSection {
  const imitates = data.views.some(({ rows }) => rows.some(({ experts }) => experts !== undefined));
  const shortened = data.threads.filter(({ posts, texts }) => texts !== null && texts.length < posts).length;
  const { leftOutSeeds: seeds } = data;
  const size = 'so that the file stays below 5 MB';
  return {
    id: 'threads',
    title: 'Threads',
    blocks: present<Block>([
      `Any thread, post by post: what the detector predicts, the score of the agent and the threshold above which it stops, ${imitates ? 'where the experts would stop, ' : ''}and where each rule and agent decides. An agent stops at its upright line.`,
      ...notes,
      seeds.length > 0 &&
        `Not here, ${size}: ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')}. \`earshot report <run> --html\` writes the page of one run.`,
      shortened > 0 && `Later posts of ${shortened} long threads are left out, ${size}.`,
      { script: 'inspector', data },
    ]),
  };
}

/** The runs, those of a seed one after another, with texts and debates; and what could not be read. */
export async function inspectedRuns(
  runs: readonly ReadRun[],
  cache: string,
): Promise<{ runs: InspectedRun[]; notes: string[] }> {
  const notes = new Set<string>();
  const inspected: InspectedRun[] = [];
  for (const run of runs) {
    const { variant, problem, agent, judged, threads, stopProbabilities, result } = run;
    if (problem !== null) notes.add(`Texts are missing: ${problem}.`);
    const { debates, problem: debatesProblem } = await debatesOf(run, cache);
    if (debatesProblem !== null) notes.add(`Debates are missing: ${debatesProblem}.`);
    const imitates = imitatesExperts(result.experiment.agent);
    const shown = result.decisions.filter(
      ({ name }) => name !== agent.name && (isLearnt(name) ? imitates : isShown(name)),
    );
    const systems = [agent, ...shown];
    inspected.push({
      ...{ variant, seed: result.seed, judged, threads, systems, stopProbabilities, debates, imitates },
      thresholdOf: thresholdsOf(result),
    });
  }
  return { runs: inspected, notes: [...notes] };
}

/** The threshold by which each thread was decided: that of its fold, where there are folds. */
function thresholdsOf(result: TrialResult): (threadId: string) => number {
  const { directory, threshold } = result;
  if (!isCrossFitted(result)) return () => threshold;
  const folds = readdirSync(directory).filter((name) => name.startsWith('fold-'));
  const thresholdByThread = new Map(
    folds.flatMap((name) => {
      const path = join(directory, name);
      const foldThreshold = thresholdOf({ path });
      return readJudged(path, 'test').map(({ threadId }) => [threadId, foldThreshold] as const);
    }),
  );
  return (threadId) => thresholdByThread.get(threadId) ?? threshold;
}
