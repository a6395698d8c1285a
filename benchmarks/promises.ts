/*
 * Whether a promise is kept (`earshot calibrate`), and what it lets an agent read. Of the threads that none of the runs has seen,
 * calibration threads are drawn 200 times; all others say how often the verdict at the stop differs from the one after all posts.
 * A draw breaks the promise where that share exceeds 5%. Beside the agent of each run: the detector's own confidence, and the
 * threshold whose share is at most 5% on the calibration threads, which promises nothing. Usage:
 *
 *   node --import tsx benchmarks/promises.ts <run…> --threads threads.jsonl [--calibration 50,100,200,400] [--draws 200] [--events]
 *
 * With --events, calibration threads are of one event and the others of another, and the last column is the share of those that the
 * shift score marks; 5% of like threads are marked.
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { claimShift } from '../checkpoints/policy/claim-shift.ts';
import { stopIn } from '../checkpoints/policy/stops.ts';
import { type CalibrationThread, keptBy, promiseFor, thresholds } from '../experiments/stop-agent/calibrate.ts';
import { type OpenedPolicy, openPolicy } from '../experiments/stop-agent/open-policy.ts';
import { groupBy } from '../src/data/group-by.ts';
import type { Thread } from '../src/data/thread.ts';
import { readThreads } from '../src/data/thread-file.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';
import { workContext } from '../src/work-context.ts';

const { values: options, positionals: runs } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string' },
    calibration: { type: 'string', default: '50,100,200,400' },
    draws: { type: 'string', default: '200' },
    events: { type: 'boolean', default: false },
    runs: { type: 'string', default: 'runs' },
    most: { type: 'string', default: '2000' },
  },
});
if (options.threads === undefined || runs.length === 0) throw new Error('give runs, and --threads');
const draws = Number(options.draws);
const counts = options.calibration.split(',').map(Number);
const limits = {
  maxPosts: Number.MAX_SAFE_INTEGER,
  lastPost: 'decision',
  deadline: { posts: null, hours: null },
} as const;
const wanted = { level: 0.05, confidence: 0.9, loss: 'disagreement', limits } as const;

const agents: OpenedPolicy[] = [];
for (const folder of runs) agents.push(await openPolicy({ folder, runs: options.runs, context: workContext() }));
const fresh: Thread[] = [];
for await (const thread of readThreads(options.threads))
  if (agents.every((agent) => !agent.isKnown(thread))) fresh.push(thread);
const random = Random.seeded({ seed: 1, purpose: 'promises' });
const pool = random.shuffled(fresh).slice(0, Number(options.most));
console.log(`${options.threads}: ${pool.length} of ${fresh.length} threads that no run has seen\n`);

/** The same threads with the detector's confidence as the score. */
const byConfidence = (threads: readonly CalibrationThread[]): CalibrationThread[] =>
  threads.map((thread) => ({
    ...thread,
    posts: thread.posts.map(({ hours }, index) => ({ hours, score: thread.confidence[index] })),
  }));
const percent = (share: number) => `${(100 * share).toFixed(1)}%`;

/** What a threshold does to threads: each stop and each verdict is looked up once. */
function outcomes(threads: readonly CalibrationThread[]) {
  const known = new Map<CalibrationThread, Map<number, { er: number; differs: boolean }>>();
  const of = (thread: CalibrationThread, threshold: number) => {
    const own = known.get(thread) ?? new Map<number, { er: number; differs: boolean }>();
    known.set(thread, own);
    const { postsUsed } = stopIn({ threshold, limits }, thread.posts);
    const found = own.get(postsUsed) ?? {
      er: postsUsed / thread.posts.length,
      differs: thread.labelAt(postsUsed) !== thread.labelAt(thread.posts.length),
    };
    own.set(postsUsed, found);
    return found;
  };
  return {
    er: (threshold: number, of_ = threads) => mean(of_.map((thread) => of(thread, threshold).er)),
    share: (threshold: number, of_ = threads) => mean(of_.map((thread) => Number(of(thread, threshold).differs))),
  };
}

function drawn(
  name: string,
  threads: readonly CalibrationThread[],
  { calibration }: { calibration: number },
): string[] {
  const { er, share } = outcomes(threads);
  const found = Array.from({ length: draws }, () => {
    const shuffled = random.shuffled(threads);
    const [own, others] = [shuffled.slice(0, calibration), shuffled.slice(calibration)];
    const { threshold } = keptBy(own, wanted);
    const empirical = thresholds.findLast((each) => share(each, own) <= wanted.level) ?? 1;
    return {
      er: er(threshold, others),
      broken: Number(share(threshold, others) > wanted.level),
      brokenByRate: Number(share(empirical, others) > wanted.level),
    };
  });
  const shares = [mean(found.map((own) => own.broken)), mean(found.map((own) => own.brokenByRate))];
  return [
    name,
    String(calibration),
    mean(found.map((own) => own.er)).toFixed(3),
    ...shares.map((own) => own.toFixed(3)),
  ];
}

async function acrossEvents(name: string, threads: readonly CalibrationThread[]): Promise<string[][]> {
  const byEvent = groupBy([...threads.keys()], (index) => pool[index].event ?? 'none');
  const events = [...byEvent].filter(([, own]) => own.length >= 100).map(([event]) => event);
  const rows: string[][] = [];
  for (const from of events) {
    const own = random.shuffled(byEvent.get(from) ?? []).map((index) => threads[index]);
    const half = own.slice(0, Math.floor(own.length / 2));
    const promise = await promiseFor(half, wanted);
    const shiftOf = claimShift(promise.shift);
    for (const to of events) {
      const others = to === from ? own.slice(half.length) : (byEvent.get(to) ?? []).map((index) => threads[index]);
      const { er, share } = outcomes(others);
      const marked = mean(others.map(({ thread }) => Number(shiftOf(thread.posts[0].text).isUnlike)));
      rows.push([name, from, to, er(promise.threshold).toFixed(3), percent(share(promise.threshold)), percent(marked)]);
    }
  }
  return rows;
}

const rows: string[][] = [];
for (const agent of agents) {
  const threads = (await agent.score(pool)).map((own) => ({ ...own, gold: agent.goldOf(own.thread) }));
  if (options.events) {
    rows.push(...(await acrossEvents(agent.name, threads)));
    continue;
  }
  for (const calibration of counts.filter((count) => 2 * count <= threads.length)) {
    rows.push(drawn(agent.name, threads, { calibration }));
    if (agent === agents[0]) rows.push(drawn("the detector's confidence", byConfidence(threads), { calibration }));
  }
}
const header = options.events
  ? ['agent', 'calibrated on', 'used on', 'ER', 'verdicts that differ', 'marked as unlike']
  : ['score', 'calibration threads', 'ER', 'promises broken', 'broken by the empirical rate'];
console.log(markdownTable([header, ...rows]));
