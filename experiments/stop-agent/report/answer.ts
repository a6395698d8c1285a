import { manyUnlike } from '../../../checkpoints/policy/claim-shift.ts';
import { promiseInWords } from '../../../checkpoints/policy/promise.ts';
import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { counted } from '../../../src/counted.ts';
import { fewestItems } from '../../../src/metrics/bootstrap.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { quoted } from '../../../src/shell-words.ts';
import { percent, plusMinus } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { agentName } from '../decisions.ts';
import { promisesFile } from '../promise-file.ts';
import type { TrialResult } from '../result.ts';
import { optimumName } from '../stream-optimum.ts';
import { isCollapsed, type Margin, ruleInPlace, type SystemSummary, shownMargin } from './aggregate.ts';
import { type DetectorTruth, detectorTruths } from './detector-truth.ts';
import { type RankedAgent, rankedAgents, recommendedAgent } from './ranked-agents.ts';
import { readingSentence } from './reading.ts';
import { type RecommendedSystem, recommendedSystem } from './recommended-system.ts';

/** What an experiment came to, for a screen, a page and a file alike. */
export interface Answer {
  /** The best first. */
  readonly agents: readonly RankedAgent[];
  /** What its detectors are worth on threads that they have not seen. */
  readonly detectors: readonly DetectorTruth[];
  /** Whether the threads are like those that verdicts were learnt from; null where they are. */
  readonly shift: string | null;
  /** Threads and seeds. */
  readonly decided: string;
  /** What the recommended agent keeps for what it reads; null where every agent collapsed. */
  readonly reading: string | null;
  /** Every agent, the best first, each with the best rules that are as early; the first row is the heading. */
  readonly table: readonly (readonly string[])[];
  /** How to read the table. */
  readonly legend: string;
  readonly verdict: string;
  /** What `calibrate` found for runs of the experiment. */
  readonly promises: readonly string[];
  /** On which part agents were chosen, and by what. */
  readonly choice: string;
  /** The system to go on with. */
  readonly recommended: RecommendedSystem;
  /** Commands that a reader may want next. */
  readonly next: readonly string[];
}

export function answerOf(results: readonly VariantResults<TrialResult>[]): Answer {
  const agents = rankedAgents(results);
  const [{ threads, threadFile, part, ranking }] = results[0].trials;
  const seeds = Math.max(...results.map(({ trials }) => trials.length));
  const best = recommendedAgent(agents);
  const system = recommendedSystem(agents);
  const chosen = system.system === agentName ? '' : ` --system ${quoted(system.system)}`;
  const { delayCost, callCost } = ranking.price;
  return {
    agents,
    detectors: detectorTruths(results),
    shift: shiftSentence(results),
    decided: `${counted(threads[part], `${part} thread`)}, ${counted(seeds, 'seed')}`,
    reading: best === null ? null : readingSentence(best.systems, agents.length === 1 ? 'the agent' : best.variant),
    table: [
      ['agent, best rule in its place', 'macro-F1', 'ER', 'calls', 'above rules'],
      ...agents.flatMap(rowsOf),
      ...agents[0].systems
        .filter(({ name }) => name === allPosts.name || name === optimumName)
        .map((system) => row(system.name, system, { margin: null })),
    ],
    legend: `ER: share of a thread’s posts read at the decision. Calls: of the detector, a thread. Above rules: macro-F1 above every mixture of rules as early with as many calls; 95 % ${seeds === 1 ? 'over threads, for this one seed' : 'over seeds and threads'}.`,
    verdict:
      threads[part] < fewestItems
        ? `${counted(threads[part], `${part} thread`)} ${threads[part] === 1 ? 'is' : 'are'} too few for intervals and a verdict; give at least ${fewestItems}, better 100.`
        : verdict(agents),
    promises: results.flatMap(({ trials }) => trials.flatMap(promiseSentence)),
    choice: `${agents.length > 1 ? 'Best first, by' : 'Of several runs the best is chosen by'} macro-F1 − ${delayCost} × ER${callCost === 0 ? '' : ` − ${callCost} × calls`} on ${ranking.part === 'development' ? 'the development part' : `the ${ranking.part} part, for there is no development part`}.`,
    recommended: system,
    next: [
      `npx earshot export ${quoted(system.run)}${chosen} --out policy`,
      ...decideCommands(threadFile, `--policy ${quoted(system.run)}${chosen}`),
    ],
  };
}

/** What decides threads that are there: those of the experiment, or some that are made first. */
function decideCommands(threadFile: string | null, policy: string): string[] {
  const path = threadFile ?? 'made-up.jsonl';
  return [
    ...(threadFile === null ? [`npx earshot data synth --threads 20 --seed 2 --out ${path}`] : []),
    `npx earshot decide ${quoted(path)} ${policy}`,
  ];
}

function promiseSentence({ directory: path }: TrialResult): string[] {
  const promise = promisesFile.find({ path })?.[agentName] ?? null;
  return promise === null
    ? []
    : [
        `${promiseInWords(promise)}. ${path} then reads ${percent(promise.er)} of the posts; the tables here are of the agent without the promise.`,
      ];
}

function shiftSentence(results: readonly VariantResults<TrialResult>[]): string | null {
  const trials = results.flatMap((own) => own.trials);
  const unlike = mean(trials.map(({ unlikeTraining }) => unlikeTraining));
  if (unlike <= manyUnlike) return null;
  return `${percent(unlike)} of the ${trials[0].part} threads look unlike those that verdicts were learnt from, by the words of their claims; of like ones 5 % do. Expect the detector to be worse here than on threads like its own.`;
}

/** The agent, and under it the rule that a reader would use instead. */
function rowsOf({ variant, agent, systems, front }: RankedAgent): string[][] {
  const rule = ruleInPlace(systems);
  return [
    row(variant === 'agent' ? agentName : variant, agent, { margin: front.overEqualCalls }),
    ...(rule === undefined ? [] : [row(`  ${rule.name}`, rule, { margin: null })]),
  ];
}

function row(name: string, { values, calls }: SystemSummary, { margin }: { margin: Margin | null }): string[] {
  const { macroF1, er, callsPerThread } = values;
  return [
    name,
    macroF1 === null ? '–' : plusMinus(macroF1),
    er === null ? '–' : er.mean.toFixed(3),
    callsPerThread === null || calls === 'oracle' ? '–' : callsPerThread.mean.toFixed(1),
    margin === null ? '' : shownMargin(margin),
  ];
}

const enumeration = new Intl.ListFormat('en');

const them = 'the best mixtures of rules that are as early and call the detector as often';

/** One sentence: which agents are worth having, by whether the interval of their lead leaves out zero. */
function verdict(variants: readonly RankedAgent[]): string {
  const of = (wanted: Standing) => variants.filter(({ front }) => standing(front.overEqualCalls) === wanted);
  const isSingle = variants.length === 1;
  const list = (own: readonly RankedAgent[]) =>
    enumeration.format(
      own.map(({ variant, front: { overEqualCalls: margin } }) =>
        [isSingle ? 'the agent' : variant, ...(margin === null ? [] : [`(${shownMargin(margin)})`])].join(' '),
      ),
    );
  const clauses: string[] = [];
  const clause = (own: readonly RankedAgent[], say: (isMany: boolean, what: string) => string) => {
    if (own.length === 0) return;
    clauses.push(`${list(own)} ${say(own.length > 1, clauses.length === 0 ? them : 'them')}`);
  };
  clause(of('above'), (isMany, what) => `${isMany ? 'are' : 'is'} above ${what}`);
  clause(of('level'), (isMany, what) => `${isMany ? 'bring' : 'brings'} no measurable gain over ${what}`);
  clause(of('below'), (isMany, what) => `${isMany ? 'are' : 'is'} below ${what}`);
  const earliest = of('earliest');
  if (earliest.length > 0)
    clauses.push(
      `${list(earliest)} ${earliest.length > 1 ? 'stop' : 'stops'} earlier than any rule that calls as seldom`,
    );
  for (const { variant, agent } of variants)
    if (isCollapsed(agent))
      clauses.push(
        `${isSingle ? 'it' : variant} collapsed to a fixed rule (${percent(agent.mostCommonStop.share)} stop at ${agent.mostCommonStop.name})`,
      );
  return `${clauses.join('; ')}.`;
}

type Standing = 'above' | 'level' | 'below' | 'earliest';

function standing(margin: Margin | null): Standing {
  if (margin === null) return 'earliest';
  if (margin.interval === null) return 'level';
  if (margin.interval.low > 0) return 'above';
  return margin.interval.high < 0 ? 'below' : 'level';
}
