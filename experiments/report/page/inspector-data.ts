import { conservativeStop, earlyActionStop, misleadingStop } from '../../../experts/trajectories.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { isLearnt, isShown, type SystemDecisions, type TestThread } from '../../stop-agent/decisions.ts';
import type { Debate, InspectedThread, InspectorData, InspectorView, ShownSystem, ShownThread } from './page-data.ts';

/** A run as the inspector needs it. */
export interface InspectedRun {
  readonly variant: string;
  readonly judged: readonly TestThread[];
  readonly systems: readonly SystemDecisions[];
  /** By thread; null where the run did not keep them. */
  readonly stopProbabilities: ReadonlyMap<string, readonly number[]> | null;
  readonly threads: ReadonlyMap<string, Thread>;
  /** By thread; empty where the detector does not talk. */
  readonly debates: ReadonlyMap<string, readonly Debate[]>;
}

/** About what a browser opens at once and a mail carries: with charts and style the page stays below 5 MB. */
const bytesAtMost = 3.6e6;
/** Bytes of a post beside its text: hours, label, confidence, and a probability an agent. */
const bytesOfNumbers = { post: 18, agent: 7 };

/**
 * The data of the inspector: one view for all runs whose detector said the same of the same threads, so that their agents
 * stand side by side. Where all posts would make the page too large, later posts of long threads are left out.
 */
export function inspectorData(
  runs: readonly InspectedRun[],
  { labels, order = 'mistake' }: Pick<InspectorData, 'labels'> & Partial<Pick<InspectorData, 'order'>>,
): InspectorData {
  const alike = [
    ...groupBy(runs, ({ judged }) =>
      JSON.stringify(judged.map(({ threadId, input }) => [threadId, [...input.sequence.predicted]])),
    ).values(),
  ];
  const places = new Map<string, number>();
  const threads: { thread: Thread | null; judged: TestThread }[] = [];
  for (const own of alike)
    for (const judged of own[0].judged) {
      if (places.has(judged.threadId)) continue;
      places.set(judged.threadId, threads.length);
      threads.push({ thread: own[0].threads.get(judged.threadId) ?? null, judged });
    }
  const limit = postLimit(threads, runs);
  return {
    labels,
    threads: threads.map((each) => shownThread(each, limit)),
    views: alike.map((own) => view(own, { places, limit, several: runs.length > 1 })),
    order,
  };
}

/** The most posts of a thread that fit; infinity where all do. */
function postLimit(
  threads: readonly { thread: Thread | null; judged: TestThread }[],
  runs: readonly InspectedRun[],
): number {
  const numbers = bytesOfNumbers.post + runs.length * bytesOfNumbers.agent;
  const fixed = runs.reduce(
    (sum, { judged, systems, debates }) =>
      sum + judged.length * (160 + 8 * systems.length) + JSON.stringify([...debates.values()]).length,
    0,
  );
  const costs: number[] = [];
  for (const { thread, judged } of threads)
    for (const [post] of judged.hours.entries()) {
      const text = thread === null ? 0 : Buffer.byteLength(JSON.stringify(thread.posts[post]?.text ?? '')) + 1;
      costs[post] = (costs[post] ?? 0) + text + numbers;
    }
  let total = fixed;
  const limit = costs.findIndex((cost) => {
    total += cost;
    return total > bytesAtMost;
  });
  return limit < 0 ? Number.POSITIVE_INFINITY : Math.max(5, limit);
}

function shownThread({ thread, judged }: { thread: Thread | null; judged: TestThread }, limit: number): ShownThread {
  return {
    id: judged.threadId,
    event: thread?.event ?? null,
    gold: judged.input.goldLabel,
    posts: judged.hours.length,
    time: thread?.posts[0].time ?? null,
    texts: thread === null ? null : thread.posts.slice(0, limit).map(({ text }) => text),
  };
}

function view(
  runs: readonly InspectedRun[],
  { places, limit, several }: { places: ReadonlyMap<string, number>; limit: number; several: boolean },
): InspectorView {
  const agents = runs.map(({ variant, systems }) => ({
    system: systems[0],
    name: several ? `${systems[0].name}: ${variant}` : systems[0].name,
  }));
  const others = runs.flatMap(({ variant, systems }, index) =>
    systems
      .slice(1)
      .filter(({ name }) => isShown(name) && (index === 0 || isLearnt(name)))
      .map((system) => ({
        system,
        name: several && isLearnt(system.name) ? `${system.name}: ${variant}` : system.name,
      })),
  );
  const all = [...agents, ...others].map(({ system, name }) => ({
    shown: {
      name,
      kind: kindOf(
        system,
        agents.some((agent) => agent.system === system),
      ),
    },
    decisions: new Map(system.decisions.map((decision) => [decision.threadId, decision])),
  }));
  const rows = runs[0].judged.map(({ threadId, input, hours }): InspectedThread => {
    const decided = all.map(({ decisions }) => {
      const decision = decisions.get(threadId);
      if (decision === undefined) throw new Error(`a system did not decide the thread ${threadId}`);
      return decision;
    });
    const { predicted, confidence } = input.sequence;
    const { goldLabel } = input;
    const [agent, ...rest] = decided;
    const rivals = rest.filter((_, index) => all[index + 1].shown.kind !== 'bound');
    const sure = confidence[Math.min(agent.postsUsed, confidence.length) - 1];
    return {
      thread: places.get(threadId)!,
      hours: hours.slice(0, limit).map((hour) => (hour === null ? null : rounded(hour, 3))),
      predicted: Array.from(predicted.slice(0, limit)),
      confidence: Array.from(confidence.slice(0, limit), (value) => (Number.isNaN(value) ? null : rounded(value, 2))),
      stopProbability: runs.map(
        ({ stopProbabilities }) =>
          stopProbabilities
            ?.get(threadId)
            ?.slice(0, limit)
            .map((value) => rounded(value, 3)) ?? null,
      ),
      stops: decided.map(({ postsUsed }) => postsUsed - 1),
      answers: decided.map((decision) => decision.predicted),
      experts: {
        conservative: conservativeStop(predicted, goldLabel),
        earlyAction: earlyActionStop(predicted, goldLabel),
        misleading: misleadingStop(predicted, goldLabel),
      },
      mistake: agent.predicted === goldLabel ? 0 : Number.isNaN(sure) ? 1 : rounded(sure, 3),
      disagreement:
        rivals.length === 0
          ? 0
          : rounded(rivals.filter((other) => other.predicted !== agent.predicted).length / rivals.length, 3),
      debates: runs
        .flatMap(({ debates }) => debates.get(threadId) ?? [])
        .filter((debate, index, own) => own.findIndex(({ posts }) => posts === debate.posts) === index),
    };
  });
  return { name: runs.map(({ variant }) => variant).join(', '), systems: all.map(({ shown }) => shown), rows };
}

function kindOf({ calls }: SystemDecisions, isAgent: boolean): ShownSystem['kind'] {
  if (calls === 'oracle') return 'bound';
  return isAgent ? 'agent' : 'rule';
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
