import { counted } from '../../../src/counted.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import type { Paragraph } from '../../report/report.ts';
import { directionOf, shown } from '../../report/shown-numbers.ts';
import { selectorName, selectorTasks, systemNames } from '../decisions.ts';
import { keptModels } from '../kept-models.ts';
import type { SelectorResult } from '../result.ts';
import { leadOver } from './selector-lead.ts';

type Results = readonly VariantResults<SelectorResult>[];

/** The random selections, the stricter control first. */
const controls = ['random-by-class', 'random'] as const;

/** More comparisons than these would hide what they say. */
const mostClauses = 4;

/** How the selector stands to a random selection, in one sentence. By the interval over seeds and threads: what touches 0 is no gain that could be measured. */
export function selectorConclusion(results: Results): string {
  const [{ tests }] = results[0].trials;
  if (tests.length === 0) return 'Nothing was tested, because the experiment names no `data.tests`.';
  const control = controls.find((random) => results.some(({ trials: [first] }) => first.systems.includes(random)));
  const alone = 'The selector was not compared with a random selection.';
  if (control === undefined) return alone;
  const comparisons = results.flatMap(({ variant, trials }) => {
    const subject = results.length > 1 ? `${variant}’s selector` : 'the selector';
    return tests.flatMap((test) =>
      selectorTasks.flatMap((task) => {
        const lead = leadOver(trials, { system: selectorName, other: control, test, task });
        return lead === null ? [] : [{ subject, test, task, lead, direction: directionOf(lead.interval) }];
      }),
    );
  });
  if (comparisons.length === 0) return alone;
  const [gains, losses] = [1, -1].map((sign) => comparisons.filter(({ direction }) => direction === sign).length);
  if (comparisons.length > mostClauses)
    return `Of ${comparisons.length} comparisons with a ${systemNames[control]}, ${gains} show a gain, ${losses} a loss and the others no measurable gain.`;
  const clauses = comparisons.map(({ subject, test, task, lead, direction }, index) => {
    const what = { '1': 'a gain', '0': 'no measurable gain', '-1': 'a loss' }[direction];
    const isNew = index === 0 || comparisons[index - 1].subject !== subject;
    return `${isNew ? `${subject} shows ` : ''}${what} in ${task} on ${test} (${shown(lead, { isDifference: true })})`;
  });
  return `Compared with a ${systemNames[control]}, ${clauses.join(', ')}.`;
}

/** Warnings before a selection is used. */
export function selectorWarnings(results: Results): Paragraph[] {
  const { trials } = results[0];
  return [
    ...results.flatMap((variant) => [...harm(variant, results), ...unrewarded(variant, results)]),
    ...selectorTasks.flatMap((task) => {
      // The selector sees none of the labels that this is measured by.
      const rooms = trials.flatMap(({ room }) => room?.[task] ?? []);
      if (rooms.length === 0 || rooms.some(({ logLikelihood }) => logLikelihood.low > 0)) return [];
      return [
        { warning: `Nothing to gain here in ${task}: right weak labels train no better model than random ones.` },
      ];
    }),
  ];
}

function whose({ variant }: Results[number], results: Results): string {
  return results.length > 1 ? `${variant}: ` : '';
}

/** Where the selector's tuned models are not measurably better than the untuned ones, so that a run keeps those. */
function harm(variantResults: Results[number], results: Results): Paragraph[] {
  const { trials } = variantResults;
  return selectorTasks.flatMap((task) => {
    const judged = trials.flatMap(({ decisions }) => keptModels(decisions, selectorName)[task] ?? []);
    const worse = judged.filter(({ isTuned }) => !isTuned);
    if (worse.length === 0) return [];
    const where = worse.length === trials.length ? 'here' : `in ${worse.length} of ${counted(trials.length, 'run')}`;
    const score = (value: 'tuned' | 'untuned') => mean(worse.map((each) => each[value])).toFixed(3);
    const does = worse.every(({ isHarmed }) => isHarmed) ? 'harms' : 'does not measurably help';
    const items = `${worse[0].items} held-out ${task === 'stance' ? 'replies' : 'claims'}`;
    return [
      {
        warning: `${whose(variantResults, results)}The selection ${does} ${task} ${where}: tuned ${score('tuned')}, untuned ${score('untuned')} on ${items}, so the untuned models are kept.`,
      },
    ];
  });
}

/**
 * Runs whose labelled claims earned nothing at the end. Where most replies show another stance than they mean, stances that changed their
 * meaning predict veracity no worse, and a policy learns to keep the wrong labels: the missing reward is all that a run without held-out items sees of it.
 */
function unrewarded(variantResults: Results[number], results: Results): Paragraph[] {
  const unjudged = variantResults.trials.filter(({ decisions }) => decisions.every(({ part }) => part === 'test'));
  const rewards = unjudged.flatMap(({ lastEpoch }) => lastEpoch['reward/labelledClaims'] ?? []);
  const without = rewards.filter((reward) => reward <= 0);
  if (without.length === 0) return [];
  return [
    {
      warning: `${whose(variantResults, results)}Labelled claims earned no reward in the last epoch of ${without.length} of ${counted(rewards.length, 'run')}, so nothing vouches for that selection: compare the tuned models with untuned ones before use.`,
    },
  ];
}
