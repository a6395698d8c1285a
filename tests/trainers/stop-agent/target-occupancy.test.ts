import { describe, expect, it } from 'vitest';
import { buildStateTable } from '../../../envs/state-table.ts';
import type { ExpertName } from '../../../experts/trajectories.ts';
import type { TableDemonstration } from '../../../trainers/stop-agent/problem.ts';
import { occupancyDistance, targetOccupancy } from '../../../trainers/stop-agent/target-occupancy.ts';
import { type AgentInput, smallMember } from './small-problem.ts';

/** Threads of two posts each: their states are the first post, then both posts after CONTINUE and after STOP. */
function target(demonstrations: readonly TableDemonstration[], more: AgentInput = {}) {
  const threads = 1 + Math.max(...demonstrations.map(({ thread }) => thread));
  const table = buildStateTable({
    threads: Array.from({ length: threads }, () => ({ posts: 2, embeddings: Float32Array.of(1, 2) })),
    dimensions: 1,
    actionEmbeddings: [Float32Array.of(0), Float32Array.of(1)],
  });
  const problem = { table, environment: new Int32Array(0), demonstrations, labelled: new Map() };
  return targetOccupancy(smallMember({ problem, more }));
}

const stops = (expert: ExpertName, thread: number, stopStep: number): TableDemonstration => ({
  expert,
  thread,
  stopStep,
});
const weights = (alpha: number, beta: number, gamma: number): AgentInput => ({ imitation: { alpha, beta, gamma } });

describe('the occupancy that the objective asks for', () => {
  it('mixes the experts by their weights', () => {
    // Half of all steps are first posts. The conservative expert stops at the second post, the early one at the first.
    const mixed = target([stops('conservative', 0, 1), stops('earlyAction', 0, 0)], weights(0.6, 0.2, 0))!;
    expect([...mixed.rows]).toEqual([0, 1, 2]);
    expect(mixed).toMatchObject({ mdps: { steps: [2], goesOn: true }, perStep: [0.5] });
    expect([...mixed.continuing].map((own) => own.toFixed(6))).toEqual(['0.375000', '0.000000', '0.000000']);
    expect([...mixed.stopping].map((own) => own.toFixed(6))).toEqual(['0.125000', '0.375000', '0.125000']);
  });

  it('counts what the misleading expert leaves negative as nothing, and sums to 1', () => {
    // Thread 0 is the misleading expert's alone; in thread 1 it takes a quarter of the first post's stop and of what follows.
    const left = target(
      [stops('conservative', 1, 0), stops('misleading', 0, 0), stops('misleading', 1, 0)],
      weights(0.8, 0, 0.4),
    )!;
    expect([...left.rows]).toEqual([0, 1, 2, 3, 4, 5]);
    expect(left.perStep).toEqual([0, 0.5]);
    expect([...left.stopping]).toEqual([0, 0, 0, 0.5, 0, 0.5]);
  });

  it('is none where the misleading expert takes all that the others show', () => {
    expect(target([stops('earlyAction', 0, 0), stops('misleading', 0, 0)], weights(0.4, 0.3, 0.3))).toBe(null);
  });

  it('is a step shorter where actions are paired with the step before', () => {
    const shorter = target([stops('conservative', 0, 1)], { pairing: 'previous-step' })!;
    expect([...shorter.rows]).toEqual([0]);
    expect([...shorter.stopping]).toEqual([1]);
  });
});

describe('the distance of a policy', () => {
  const mixed = target([stops('conservative', 0, 1), stops('earlyAction', 0, 0)], weights(0.6, 0.2, 0))!;
  const pairs = [stops('conservative', 0, 0), stops('conservative', 1, 1)];

  it('is 0 where its occupancy is the target', () => {
    const { 'occupancy/distance': distance } = occupancyDistance(mixed, Float64Array.of(0.25, 1, 1));
    expect(distance).toBeCloseTo(0, 12);
  });

  it('is the share of steps that would have to be others', () => {
    // Stops at the first post: ρ is a half there and a half after it; the target has an eighth of all steps in each.
    const stopped = occupancyDistance(mixed, Float64Array.of(1, 1, 1));
    expect(stopped['occupancy/distance']).toBeCloseTo(0.75, 12);
    // Never stops: the first post is right but for an eighth, the second wrong throughout.
    const waited = occupancyDistance(mixed, Float64Array.of(0, 0, 1));
    expect(waited['occupancy/distance']).toBeCloseTo(0.125 + 0.5, 12);
  });

  it('does not ask what the policy would do after a stop that is final', () => {
    const final = target(pairs, { imitation: { alpha: 1, beta: 0, gamma: 0, afterStop: 'stop' } })!;
    const { 'occupancy/distance': distance } = occupancyDistance(final, Float64Array.of(1, 1, 0, 0, 1, 0));
    expect(distance).toBeCloseTo(0, 12);
  });

  it('by step forgets in which thread the agent stops', () => {
    const apart = target(pairs, weights(1, 0, 0))!;
    // One thread stops at the first post and the other at the second; this policy does each half of the time in both.
    const blind = occupancyDistance(apart, Float64Array.of(0.5, 1, 1, 0.5, 1, 1));
    expect(blind['occupancy/distance']).toBeCloseTo(0.5, 12);
    expect(blind['occupancy/distance_by_step']).toBeCloseTo(0, 12);
    // And this one the wrong thing in each.
    const crossed = occupancyDistance(apart, Float64Array.of(0, 1, 1, 1, 1, 1));
    expect(crossed['occupancy/distance']).toBeCloseTo(1, 12);
    expect(crossed['occupancy/distance_by_step']).toBeCloseTo(0, 12);
  });
});
