import { CONTINUE, STOP } from '../../envs/state-table.ts';
import { expertNames } from '../../experts/trajectories.ts';
import { signedWeights } from '../gail.ts';
import { type ThreadMdps, threadsOf, visitProbabilities, withFinalStops } from '../thread-mdp.ts';
import type { Metrics } from '../trainer.ts';
import type { StopMember } from './problem.ts';
import { stopLogProbabilitiesOf } from './rollout.ts';
import { pairsOf, type StopLearner } from './setup.ts';

/*
 * How far the agent is from what its objective asks for, on the demonstration threads. EARD's discriminator has nothing left
 * to tell where the agent's occupancy is (Eq. 3, at its saddle point)
 *
 *   ρ*(s, a) = (α ρ_c + β ρ_e − γ ρ_m) / (α + β − γ)
 *
 * with ρ_c, ρ_e and ρ_m the shares of each expert's pairs. An occupancy is never negative, so where ρ* is, it counts as 0,
 * and the rest is scaled to sum to 1. How often each thread comes is not up to the agent: it begins in each as often as ρ* does. The
 * chain of states in a thread is known (thread-mdp.ts), so the agent's occupancy ρ is a forward pass without sampling.
 *
 *   occupancy/distance           ½ Σ_{s,a} |ρ − ρ*|, the total variation: the share of steps that would have to be others
 *   occupancy/distance_by_step   the same with all threads taken as one: whether the agent stops as early as it should, in
 *                                whatever threads. A policy that cannot tell threads apart can bring this to 0, not the other
 */

/** The target of one member, on the threads that demonstrate. */
export interface TargetOccupancy {
  /** Rows of the table, thread after thread: the states of `mdps`, [states]. */
  readonly rows: Int32Array;
  readonly mdps: ThreadMdps;
  /** How often a step of each thread occurs in ρ*, and so in the agent's occupancy. */
  readonly perStep: readonly number[];
  /** Whether the policy's actions after its first stop are stop, whatever it says there. */
  readonly stopIsFinal: boolean;
  /** ρ*(s, CONTINUE) and ρ*(s, STOP), [states] each. */
  readonly continuing: Float64Array;
  readonly stopping: Float64Array;
}

/** Null where the misleading expert leaves nothing of the others, or nothing is imitated. */
export function targetOccupancy(member: StopMember): TargetOccupancy | null {
  const { table } = member.problem;
  const pairs = expertNames.map((expert) => ({ expert, ...pairsOf(member, expert) }));
  const present = pairs.flatMap(({ expert, rows }) => (rows.length > 0 ? [expert] : []));
  const weights = signedWeights(member.config.imitation, present);
  const mass = new Map<number, [number, number]>();
  for (const { expert, rows, actions } of pairs)
    for (const [pair, row] of rows.entries()) {
      const own = mass.get(row) ?? [0, 0];
      own[actions[pair]] += weights[expert] / rows.length;
      mass.set(row, own);
    }
  const positive = (row: number, action: number) => Math.max(0, mass.get(row)?.[action] ?? 0);
  // A rounding error of α ρ_c − γ ρ_m is no mass.
  const total = [...mass.keys()].reduce((sum, row) => sum + positive(row, CONTINUE) + positive(row, STOP), 0);
  if (total < 1e-9) return null;

  // Demonstrations paired with the step before are one step shorter than their threads.
  const steps = Array.from(table.lengths, (length) => length - Number(member.config.pairing === 'previous-step'));
  const places = Array.from(steps.keys()).filter((thread) => mass.has(table.firstRows[thread]));
  const rows = places.flatMap((thread) =>
    Array.from({ length: 2 * steps[thread] - 1 }, (_, state) => table.firstRows[thread] + state),
  );
  const continuing = Float64Array.from(rows, (row) => positive(row, CONTINUE) / total);
  const stopping = Float64Array.from(rows, (row) => positive(row, STOP) / total);
  const mdps = { steps: places.map((thread) => steps[thread]), goesOn: true };
  const perStep = Array.from(threadsOf(mdps), ({ steps: own, first, end }) => {
    return (sum(continuing.subarray(first, end)) + sum(stopping.subarray(first, end))) / own;
  });
  const stopIsFinal = member.config.imitation.afterStop === 'stop';
  return { rows: Int32Array.from(rows), mdps, perStep, stopIsFinal, continuing, stopping };
}

/**
 * How far a policy is from the target.
 * @param stopProbability π(stop | s), [states]
 */
export function occupancyDistance(
  { mdps, perStep, stopIsFinal, continuing, stopping }: TargetOccupancy,
  stopProbability: Float64Array,
): Metrics {
  const stops = stopIsFinal ? withFinalStops(mdps, stopProbability) : stopProbability;
  const visits = visitProbabilities(mdps, stops);
  let distance = 0;
  // The states of all threads are numbered alike, so a number stands for a step and the action before it.
  const byStep: [number, number][] = [];
  for (const [thread, { first, end }] of [...threadsOf(mdps)].entries())
    for (let state = first; state < end; state++) {
      const occupied = perStep[thread] * visits[state];
      const excess = [occupied * (1 - stops[state]) - continuing[state], occupied * stops[state] - stopping[state]];
      byStep[state - first] ??= [0, 0];
      for (const action of [CONTINUE, STOP]) {
        distance += Math.abs(excess[action]) / 2;
        byStep[state - first][action] += excess[action];
      }
    }
  return {
    'occupancy/distance': distance,
    'occupancy/distance_by_step': sum(byStep.flat().map(Math.abs)) / 2,
  };
}

/** Iterations from one measurement of the occupancies to the next: all states of the demonstration threads are scored for it. */
const occupancyEvery = 10;

/** Bounds the memory of that. */
const statesAtOnce = 512;

/** Adds how far the policies now are from their target, after every tenth iteration and the last. */
export async function withOccupancies(
  {
    learner,
    targets,
    iteration,
  }: { learner: StopLearner; targets: readonly (TargetOccupancy | null)[]; iteration: number },
  metrics: readonly Metrics[],
): Promise<readonly Metrics[]> {
  const isLast = iteration === learner.members[0].config.iterations;
  if (!isLast && iteration % occupancyEvery !== 0) return metrics;
  const rows = targets.map((target) => target?.rows ?? new Int32Array(0));
  const stopProbability = rows.map(({ length }) => new Float64Array(length));
  const most = Math.max(...rows.map(({ length }) => length));
  for (let start = 0; start < most; start += statesAtOnce) {
    const chunks = rows.map((own) => own.subarray(start, start + statesAtOnce));
    const observations = learner.states.gatherPadded(chunks);
    // A member with fewer states may have none left.
    const states = chunks.map(({ length }) => length);
    const stops = await stopLogProbabilitiesOf(learner, { observations, states });
    observations.dispose();
    for (const [member, logs] of stops.entries()) stopProbability[member].subarray(start).set(logs.map(Math.exp));
  }
  return metrics.map((own, member) => {
    const target = targets[member];
    return target === null ? own : { ...own, ...occupancyDistance(target, stopProbability[member]) };
  });
}

function sum(values: Float64Array | readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
