import { guaranteeInWords } from '../../../checkpoints/policy/guarantee.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { agentName } from '../decisions.ts';
import { guaranteesFile, testedGuarantee } from '../operating-point.ts';
import type { TrialResult } from '../result.ts';

/** The guarantee of the first agent that was tested by one, and what it saves as a mean over seeds; empty where none was. */
export function guaranteeSentence(results: readonly VariantResults<TrialResult>[]): string {
  for (const { variant, trials } of results) {
    const guarantees = trials.flatMap(({ directory: path }) => testedGuarantee({ path }) ?? []);
    if (guarantees.length === 0) continue;
    const rates = guarantees.map(({ er }) => er);
    const sentence = guaranteeInWords({ ...guarantees[0], er: mean(rates) });
    const notes = present([
      results.length > 1 && variant,
      rates.length > 1 &&
        `mean of ${rates.length} seeds, which read ${percent(Math.min(...rates))} to ${percent(Math.max(...rates))}`,
    ]);
    return `${sentence}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}. `;
  }
  return '';
}

/** What is guaranteed for each run, where the first sentence does not tell it all. */
export function guaranteeNotes(trials: readonly TrialResult[]): string[] {
  const tested = trials.flatMap(({ directory: path }) => {
    const guarantee = testedGuarantee({ path });
    return guarantee === null ? [] : [`${path} ${percent(guarantee.er)}`];
  });
  const later = trials.flatMap(({ directory: path }) => {
    const guarantee = guaranteesFile.find({ path })?.[agentName] ?? null;
    if (guarantee === null || testedGuarantee({ path }) !== null) return [];
    return [`Guarantee of ${path}: ${guaranteeInWords(guarantee)}. The tables here are of the agent without it.`];
  });
  return present([tested.length > 1 && `Posts read with the guarantee, by run: ${tested.join(', ')}.`, ...later]);
}
