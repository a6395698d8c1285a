import { counted } from '../../../src/counted.ts';
import type { MetricInterval } from '../../../src/metrics/metric-intervals.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { signedInterval } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type SelectorTask, selectorTasks } from '../decisions.ts';
import { keptModels } from '../kept-models.ts';
import type { SelectorResult } from '../result.ts';
import { selectorName, systemNames } from '../system-names.ts';
import { leadOver } from './selector-lead.ts';

/** What a random selection may be, the stricter control first. */
const controls = ['random-by-class', 'random'] as const;

/** How the selector stands to a random selection, and whether there was anything to gain: a sentence without its full stop. */
export function selectorVerdict(results: readonly VariantResults<SelectorResult>[]): string {
  const [{ trials }] = results;
  const tests = Object.keys(trials[0].systems[0].tests);
  const comparisons = results.map(({ variant, trials: runs }): Comparison => {
    const subject = results.length > 1 ? `${variant}’s selector` : 'the selector';
    const control = controls.find((random) => runs[0].systems.some(({ name: own }) => own === random)) ?? null;
    const places = control === null ? [] : tests.flatMap((test) => selectorTasks.map((task) => ({ test, task })));
    const leads = places.flatMap((place) => {
      const lead = leadOver(runs, { own: selectorName, other: String(control), ...place });
      return lead === null ? [] : [{ ...place, lead }];
    });
    return { subject, control, leads };
  });
  return [...harmClauses(results), verdictOn(comparisons), ...unrewardedClauses(results), ...roomClauses(trials)].join(
    '; ',
  );
}

/** Where the selector's tuned models are not measurably better than the untuned ones, so that a run keeps those. */
function harmClauses(results: readonly VariantResults<SelectorResult>[]): string[] {
  return results.flatMap(({ variant, trials }) =>
    selectorTasks.flatMap((task) => {
      const judged = trials.flatMap(({ decisions }) => keptModels(decisions, selectorName)[task] ?? []);
      const worse = judged.filter(({ isTuned }) => !isTuned);
      if (worse.length === 0) return [];
      const where = worse.length === trials.length ? 'here' : `in ${worse.length} of ${counted(trials.length, 'run')}`;
      const of = (value: 'tuned' | 'untuned') => mean(worse.map((own) => own[value])).toFixed(3);
      const does = worse.every(({ isHarmed }) => isHarmed) ? 'harms' : 'does not measurably help';
      const items = `${worse[0].items} held-out ${task === 'stance' ? 'replies' : 'claims'}`;
      return [
        `${results.length > 1 ? `${variant}’s ` : ''}selection ${does} ${task} ${where}: tuned ${of('tuned')}, untuned ${of('untuned')} on ${items}, so the untuned models are kept`,
      ];
    }),
  );
}

/** Where no seed could show room. The selector sees none of the labels that this is measured by. */
function roomClauses(trials: readonly SelectorResult[]): string[] {
  return selectorTasks.flatMap((task) => {
    const rooms = trials.flatMap(({ room }) => room?.[task] ?? []);
    if (rooms.length === 0 || rooms.some(({ logLikelihood }) => logLikelihood.low > 0)) return [];
    return [`nothing to gain here in ${task}: right machine labels train no better model than random ones`];
  });
}

/**
 * Runs whose labelled claims earned nothing at the end. Where most replies say another stance than they mean, stances that changed their
 * meaning tell veracity no worse, and a policy learns to keep the wrong labels: the missing reward is all that a run without held-out items sees of it.
 */
function unrewardedClauses(results: readonly VariantResults<SelectorResult>[]): string[] {
  return results.flatMap(({ variant, trials }) => {
    const unjudged = trials.filter(({ decisions }) => decisions.every(({ part }) => part === 'test'));
    const rewards = unjudged.flatMap(({ lastEpoch }) => lastEpoch['reward/labelledClaims'] ?? []);
    const unrewarded = rewards.filter((reward) => reward <= 0);
    if (unrewarded.length === 0) return [];
    const whose = results.length > 1 ? `${variant}’s ` : '';
    return [
      `${whose}labelled claims earned no reward in the last epoch of ${unrewarded.length} of ${counted(rewards.length, 'run')}, so nothing vouches for what was selected there: hold the tuned models against untuned ones before use`,
    ];
  });
}

interface Place {
  readonly test: string;
  readonly task: SelectorTask;
}

/** How a selector stands to a random selection. */
interface Comparison {
  readonly subject: string;
  /** The random selection; null where there was none. */
  readonly control: (typeof controls)[number] | null;
  readonly leads: readonly (Place & { readonly lead: MetricInterval })[];
}

/** More than these would hide what they say. */
const leadsInVerdict = 6;

function verdictOn(comparisons: readonly Comparison[]): string {
  const leads = comparisons.flatMap((own) => own.leads);
  if (leads.length > leadsInVerdict) {
    const gains = leads.filter(({ lead }) => lead.low > 0).length;
    const losses = leads.filter(({ lead }) => lead.high < 0).length;
    return `of ${leads.length} comparisons with a random selection ${gains} show a gain, ${losses} a loss and the others no measurable gain over it; the report has each`;
  }
  return comparisons
    .map(({ subject, control, leads: own }) =>
      control === null
        ? `${subject} was not compared with a random selection`
        : `compared with a ${systemNames[control]}, ${subject} shows ${own.map(clauseOf).join('; ')}`,
    )
    .join('; ');
}

/** By the interval over seeds and threads: what touches 0 is no gain that could be measured. */
function clauseOf({ test, task, lead }: Comparison['leads'][number]): string {
  const what = lead.low > 0 ? 'a gain over' : lead.high < 0 ? 'a loss against' : 'no measurable gain over';
  return `${what} it in ${task} on ${test} (${signedInterval(lead)})`;
}
