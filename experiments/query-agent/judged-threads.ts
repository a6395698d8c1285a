import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { groupBy } from '../../src/data/group-by.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { KnownJudgement, QueryThread } from '../../trainers/query-agent/states.ts';
import type { DetectorDecision } from '../detectors/decisions.ts';
import { judgeAsAsked } from '../detectors/judge-items.ts';
import type { Judge } from '../judging/judge.ts';
import { type AskedDetector, experimentOn, type QueryExperiment } from './experiment.ts';

/** Everything that every detector says of some threads at the steps where it may be asked, and what that costs. */
export async function judgedThreads(
  threads: readonly Thread[],
  {
    experiment,
    judges,
    store,
    context,
  }: {
    experiment: QueryExperiment;
    /** By name of the detector. */
    judges: ReadonlyMap<string, Judge>;
    store: AnnotationStore;
    context: WorkContext;
  },
): Promise<{ threads: QueryThread[]; asked: number; cached: number }> {
  const said: Map<string, DetectorDecision[]>[] = [];
  const counts = { asked: 0, cached: 0 };
  for (const [name, judge] of judges) {
    const stage = `judging prefixes with ${name}`;
    const asking = { experiment: experimentOn(experiment, name), threads, store, stage, context };
    const judged = await judgeAsAsked(judge, asking);
    counts.asked += judged.result.asked;
    counts.cached += judged.result.cached;
    said.push(groupBy(judged.decisions, ({ threadId }) => threadId));
  }
  const names = [...judges.keys()];
  const { labels } = [...judges.values()][0].task;
  const priced = (place: number, decision: DetectorDecision): KnownJudgement => ({
    label: decision.predicted === null ? -1 : labels.indexOf(decision.predicted),
    probabilities: probabilitiesOf(decision, labels),
    cost: costOf(decision, { price: experiment.detectors[names[place]].price, name: names[place] }),
  });
  return {
    ...counts,
    threads: threads.map((thread) => {
      const decisions = said.map((own) => own.get(thread.id) ?? []);
      const lengths = [...new Set(decisions.flatMap((own) => own.map(({ posts }) => posts)))].sort((a, b) => a - b);
      const judgements = lengths.map((length) =>
        decisions.map((own, place) => {
          const decision = own.find(({ posts }) => posts === length);
          return decision === undefined ? null : priced(place, decision);
        }),
      );
      const gold = labels.indexOf(decisions[0][0].gold);
      return { id: thread.id, posts: thread.posts.length, lengths, judgements, gold };
    }),
  };
}

function probabilitiesOf({ probabilities }: DetectorDecision, labels: readonly string[]): number[] | null {
  return probabilities === null ? null : labels.map((label) => probabilities[label] ?? 0);
}

function costOf(
  { posts, cost, seconds }: DetectorDecision,
  { price, name }: Pick<AskedDetector, 'price'> & { name: string },
): number {
  if (price.money > 0 && cost === null)
    throw new InputError(
      `what a judgement of ${name} costs is not known, because its models have different prices; give detectors.${name}.price.judgement or .post instead of .money`,
    );
  const { judgement, post, money, second } = price;
  return judgement + post * posts + money * (cost ?? 0) + second * (seconds ?? 0);
}

/** Threads as if nobody had labelled them: their label is what the first detector says after the most replies; unreadable ones are left out. */
export function labelledByFirstDetector(threads: readonly QueryThread[]): QueryThread[] {
  return threads.flatMap((thread) => {
    const last = thread.judgements.findLast(([first]) => first !== null)?.[0] ?? null;
    return last === null || last.label < 0 ? [] : [{ ...thread, gold: last.label }];
  });
}
