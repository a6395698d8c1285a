import { dirname } from 'node:path';
import { bootstrapGroups, type Interval } from '../../../src/metrics/bootstrap.ts';
import { type PricedPoint, paretoFront, upperHull } from '../../../src/metrics/pareto.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { agentName, isLearnt, isShown, type SystemDecisions } from '../decisions.ts';
import type { TrialResult } from '../result.ts';
import { optimumName } from '../stream-optimum.ts';
import { everyItem, operatingPointOf } from './aggregate.ts';
import type { RecommendedSystem } from './recommended-system.ts';

/** A system by its aims: means over seeds. */
export interface PlottedSystem extends PricedPoint {
  readonly name: string;
  /** agent: the trained one; learnt: other systems that learn; bound: sees the labels; optimum: knows the stream. */
  readonly kind: 'agent' | 'learnt' | 'rule' | 'bound' | 'optimum';
  /** The agent to go on with. */
  readonly isRecommended: boolean;
  readonly seeds: number;
  /** 95 %, bootstrap over seeds and the threads of each; null for rules that tables leave out. */
  readonly intervals: Readonly<Record<keyof PricedPoint, Interval>> | null;
  /** The command that shows these decisions again. */
  readonly repeat: string;
}

const resamples = 500;

/**
 * Every agent of every variant, and the rules of the first variant's splits.
 * @param options.command what trained the agents
 */
export function plottedSystems(
  variants: readonly VariantResults<TrialResult>[],
  { command, recommended }: { command: string; recommended: Pick<RecommendedSystem, 'variant' | 'system'> },
): PlottedSystem[] {
  const several = variants.length > 1;
  return variants.flatMap(({ variant, trials }, index) => {
    const names = [...new Set(trials.flatMap(({ decisions }) => decisions.map(({ name }) => name)))];
    return names
      .filter((name) => index === 0 || isLearnt(name))
      .map((name): PlottedSystem => {
        const own = trials.flatMap(({ decisions }) => decisions.filter((system) => system.name === name));
        const classes = Object.keys(trials[0].systems[0].f1ByLabel).length;
        const kind = kindOf(own[0]);
        return {
          ...meanPoint(own, classes),
          name: !several || !isLearnt(name) ? name : name === agentName ? variant : `${name}: ${variant}`,
          kind,
          isRecommended: name === recommended.system && (name !== agentName || variant === recommended.variant),
          seeds: own.length,
          intervals: isShown(name) ? intervalsOf(own, classes) : null,
          repeat: name === agentName ? command : comparison(name, trials),
        };
      });
  });
}

function kindOf({ name, calls }: SystemDecisions): PlottedSystem['kind'] {
  if (name === optimumName) return 'optimum';
  if (calls === 'oracle') return 'bound';
  if (name === agentName) return 'agent';
  return isLearnt(name) ? 'learnt' : 'rule';
}

function meanPoint(own: readonly SystemDecisions[], classes: number): PricedPoint {
  const points = own.map((system) => operatingPointOf(system, classes)(everyItem(system.decisions.length)));
  const over = (aim: keyof PricedPoint) => mean(points.map((point) => point[aim]));
  return { macroF1: over('macroF1'), er: over('er'), calls: over('calls') };
}

function intervalsOf(own: readonly SystemDecisions[], classes: number): PlottedSystem['intervals'] {
  const at = own.map((system) => operatingPointOf(system, classes));
  const [macroF1, er, calls] = bootstrapGroups({
    groups: own.map(({ decisions }) => decisions.length),
    seed: 1,
    resamples,
    statistics(group, items) {
      const point = at[group](items);
      return [point.macroF1, point.er, point.calls];
    },
    scoreRange: (statistic) => (statistic === 0 ? [0, 1] : null),
  });
  return { macroF1, er, calls };
}

/** Compares the agent with another system on the same threads. */
function comparison(name: string, trials: readonly TrialResult[]): string {
  const [{ directory }] = trials;
  const folder = trials.length > 1 ? dirname(directory) : directory;
  return `earshot compare ${folder} ${folder} --second-system "${name}"`;
}

/** What mixtures of these rules attain, as the corners of a line. */
export function hullOf(systems: readonly PlottedSystem[], price: 'er' | 'calls'): PlottedSystem[] {
  const rules = systems.filter(({ kind }) => kind === 'rule');
  const corners = upperHull(
    paretoFront(rules.map((system) => ({ system, er: system[price], macroF1: system.macroF1 }))),
  );
  return corners.map(({ system }) => system);
}
