import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import { splitThreads } from '../../src/data/split.ts';
import type { Thread } from '../../src/data/thread.ts';
import { bestMixture } from '../../src/metrics/pareto.ts';
import { mean } from '../../src/metrics/summary-statistics.ts';
import { type BackendChoice, selectBackend } from '../../src/tensor/backend.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { QueryAgentConfig } from '../../trainers/query-agent/config.ts';
import { decideQueries, type QueryPolicy } from '../../trainers/query-agent/policy.ts';
import type { QueryThread } from '../../trainers/query-agent/states.ts';
import { createQueryTrainer } from '../../trainers/query-agent/trainer.ts';
import { beginRun, type JudgingTrial } from '../detectors/begin-run.ts';
import { judgeOf } from '../detectors/trial.ts';
import type { ScoredTask } from '../judging/gold-labels.ts';
import type { Judge } from '../judging/judge.ts';
import { writeDecisions } from '../run/decisions-file.ts';
import { trainInDirectories } from '../run/train-in-directories.ts';
import { allCascades, type Cascade, followCascade, isSingle } from './cascades.ts';
import { experimentOn, lengthsOf, type QueryExperiment } from './experiment.ts';
import { judgedThreads, labelledByFirstDetector } from './judged-threads.ts';
import { outcomeOf, pointOf, type QueryOutcome, queryAgentName, returnsOf } from './outcomes.ts';
import { decisionOf, type QuerySystem, queryResult, readQueryResult, type StoredQueryResult } from './result.ts';

type QueryTrial = JudgingTrial<QueryExperiment>;

/**
 * One run: judges the threads with every detector, trains an agent with each of the settings, tests the one with the most return on the
 * development part beside fixed rules, and leaves everything in its directory. A finished run is left as it is.
 * @throws InputError when the directory holds a run of another config, seed or data, or a price is not known
 * @throws ProviderError when judgements failed, a budget or an endpoint ended; what was answered is kept
 */
export async function runQueryTrial(trial: QueryTrial): Promise<void> {
  const { experiment, seed, context } = trial;
  const backend = await selectBackend('auto');
  await beginRun(trial, {
    facts: { backend: backend.name, device: backend.device },
    split: (threads, task) => partsOf(threads, { experiment, seed, task }),
    readResult: readQueryResult,
    async work({ run, task, parts, sizes, store }) {
      const judges = new Map<string, Judge>();
      for (const name of Object.keys(experiment.detectors))
        judges.set(name, await judgeOf({ ...trial, experiment: experimentOn(experiment, name) }, { task, parts }));
      const { labelled, unlabelled, development, test } = parts;
      const decided = experiment.evaluation.part === 'test' ? test : [];
      const asked = [...labelled, ...unlabelled, ...development, ...decided];
      const { threads, ...counts } = await judgedThreads(asked, { experiment, judges, store, context });
      const byId = new Map(threads.map((thread) => [thread.id, thread]));
      const of = (own: readonly Thread[]) => own.flatMap(({ id }) => byId.get(id) ?? []);
      const known = {
        labelled: of(labelled),
        guessed: labelledByFirstDetector(of(unlabelled)),
        development: of(development),
        test: of(test),
      };
      const result = await trained(known, { trial, task, run, backend });
      if (result !== null) queryResult.write(run, { ...result, ...counts, threads: sizes });
    },
  });
}

function partsOf(
  threads: readonly Thread[],
  { experiment, seed, task }: { experiment: QueryExperiment; seed: number; task: ScoredTask },
) {
  const { seed: fixed, ...sizes } = experiment.split;
  const {
    train = [],
    labelled,
    unlabelled = [],
    development,
    test,
  } = splitThreads(threads, {
    parts: Object.fromEntries(Object.entries(sizes).filter(([, size]) => size !== 0)),
    seed: fixed ?? seed,
    stratifyBy: task.goldLabel,
  }) as Partial<Record<string, Thread[]>> & Record<'labelled' | 'development' | 'test', Thread[]>;
  return { train, labelled, unlabelled, development, test };
}

type Known = Readonly<Record<'labelled' | 'guessed' | 'development' | 'test', readonly QueryThread[]>>;

/** Trains, chooses, decides and writes the decisions; null where the signal stopped it. */
async function trained(
  known: Known,
  { trial, task, run, backend }: { trial: QueryTrial; task: ScoredTask; run: RunDirectory; backend: BackendChoice },
): Promise<Omit<StoredQueryResult, 'asked' | 'cached' | 'threads'> | null> {
  const { experiment, seed, directory, context } = trial;
  const { delayCost, evaluation } = experiment;
  const labels = task.labels.length;
  const returnOn = (outcomes: readonly QueryOutcome[]) => mean(returnsOf(outcomes, delayCost));
  const train = async (
    learntFrom: readonly QueryThread[],
    { config, into, stage }: { config: QueryAgentConfig; into: RunDirectory; stage: string },
  ) => {
    const told = { ...context, onProgress: progressOf(context, stage) };
    const trainer = createQueryTrainer({ threads: learntFrom, labels, config, seed });
    try {
      const identities = [sha256([learntFrom, config])];
      const isFinished = await trainInDirectories(trainer, {
        runs: [into],
        identities,
        checkpointEvery: 50,
        context: told,
      });
      return isFinished ? (await trainer.policies())[0] : null;
    } finally {
      trainer.dispose();
    }
  };
  const decide = async (policy: QueryPolicy, threads: readonly QueryThread[]) => {
    const episodes = await decideQueries(policy, { threads, labels });
    return episodes.map((episode, index) => outcomeOf(threads[index], episode));
  };

  // What the agent's settings are chosen by.
  const tried: { readonly developmentReturn: number; readonly outcomes: readonly QueryOutcome[] }[] = [];
  for (const [index, settings] of experiment.settings.entries()) {
    const config = { ...settings, delayCost };
    const facts = { seed, backend: backend.name, device: backend.device, hashes: {} };
    const folder = RunDirectory.create(join(directory, 'settings', String(index + 1)), { config, facts });
    const policy = await train([...known.labelled, ...known.guessed], {
      config,
      into: folder,
      stage: `settings ${index + 1} of ${experiment.settings.length}`,
    });
    if (policy === null) return null;
    const outcomes = await decide(policy, known.development);
    tried.push({ developmentReturn: returnOn(outcomes), outcomes });
  }
  const returns = tried.map(({ developmentReturn }) => developmentReturn);
  const chosen = returns.indexOf(Math.max(...returns));
  const decisionsOf = (systems: readonly Outcomes[]) =>
    systems.flatMap(({ system, outcomes }) =>
      outcomes.map((outcome) => decisionOf(outcome, { ...system, labels: task.labels, detectors: names })),
    );
  const names = Object.keys(experiment.detectors);
  const agent = { name: queryAgentName, title: queryAgentName, share: 1 };
  writeDecisions(run.path, decisionsOf([{ system: agent, outcomes: tried[chosen].outcomes }]), 'development');
  const shared = { seed, task: task.name, labels: [...task.labels], detectors: names, chosen: chosen + 1, returns };
  if (evaluation.part === 'development') return { ...shared, part: 'development', systems: [agent] };

  // Rules are chosen on all labelled threads, so the agent learns from all of them, too.
  const labelled = [...known.labelled, ...known.development];
  const policy = await train([...labelled, ...known.guessed], {
    config: { ...experiment.settings[chosen], delayCost },
    into: run,
    stage: 'on all labelled threads',
  });
  if (policy === null) return null;
  const own = { system: agent, outcomes: await decide(policy, known.test) };
  const systems = [own, ...rules({ experiment, labelled, test: known.test, agent: own, returnOn, labels })];
  writeDecisions(run.path, decisionsOf(systems));
  return { ...shared, part: 'test', systems: systems.map(({ system }) => system) };
}

/** Says which of several trainings it is. */
function progressOf({ onProgress }: WorkContext, which: string): WorkContext['onProgress'] {
  return (stage, ...counts) => onProgress(`${stage}, ${which}`, ...counts);
}

interface Outcomes {
  readonly system: QuerySystem;
  readonly outcomes: readonly QueryOutcome[];
}

/** The rules to show beside the agent: those that the labelled threads choose, each detector alone, and what costs the same. */
function rules(of: {
  experiment: QueryExperiment;
  labelled: readonly QueryThread[];
  test: readonly QueryThread[];
  agent: Outcomes;
  returnOn: (outcomes: readonly QueryOutcome[]) => number;
  labels: number;
}): Outcomes[] {
  const { experiment, labelled, test, agent, returnOn, labels } = of;
  const names = Object.keys(experiment.detectors);
  const all = allCascades({ names, lengths: lengthsOf(experiment) });
  const follow = (rule: Cascade, threads: readonly QueryThread[]) =>
    threads.map((thread) => outcomeOf(thread, followCascade(thread, rule)));
  const best = (among: readonly Cascade[]) => {
    const returns = among.map((rule) => returnOn(follow(rule, labelled)));
    return among[returns.indexOf(Math.max(...returns))];
  };
  const shown = (title: string, rule: Cascade): Outcomes => ({
    system: { name: `${title} (${rule.name})`, title, share: 1 },
    outcomes: follow(rule, test),
  });
  const alone = names.flatMap((name, detector) => {
    const { first, last } = spanOf(experiment, name);
    return all.filter((rule) => isAlone(rule) && rule.detector === detector && [first, last].includes(rule.last));
  });
  const points = all.map((rule) => {
    const outcomes = follow(rule, test);
    return { rule, outcomes, ...pointOf(outcomes, labels) };
  });
  const mixture = bestMixture(points, pointOf(agent.outcomes, labels)) ?? [];
  return [
    shown(chosenCascade, best(all)),
    shown('best single detector of the labelled threads', best(all.filter(isSingle))),
    ...alone.map((rule) => shown(rule.name, rule)),
    ...mixture.map(({ point: { rule, outcomes }, share }) => ({
      system: { name: `${equalCost} (${rule.name})`, title: equalCost, share },
      outcomes,
    })),
  ];
}

export const chosenCascade = 'best cascade of the labelled threads';
export const equalCost = 'mixture of rules as early and as cheap';

/** Whether a rule asks one detector once. */
const isAlone = ({ first, last, second }: Cascade): boolean => second === null && first === last;

/** The least and the most posts at which a detector may be asked. */
function spanOf({ detectors }: QueryExperiment, name: string): { first: number; last: number } {
  const lengths = detectors[name].replies.map((seen) => (seen === 'all' ? Number.POSITIVE_INFINITY : seen + 1));
  return { first: Math.min(...lengths), last: Math.max(...lengths) };
}
