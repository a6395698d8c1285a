import { describe, expect, it } from 'vitest';
import { type Limits, openStops, stopIn } from '../../../checkpoints/policy/stops.ts';

const limits = (parts: Partial<Limits> = {}): Limits => ({
  maxPosts: 100,
  deadline: { posts: null, hours: null },
  ...parts,
});
const posts = (scores: number[], hours: (number | null)[] = scores.map((_, index) => index)) =>
  scores.map((score, index) => ({ score, hours: hours[index] }));

describe('a stop', () => {
  it('is the first post whose score exceeds the threshold, else the last one', () => {
    const rule = { threshold: 0.5, limits: limits() };
    expect(stopIn(rule, posts([0.2, 0.5, 0.7, 0.9]))).toEqual({ postsUsed: 3, why: 'threshold', hours: 2 });
    expect(stopIn(rule, posts([0.2, 0.5]))).toEqual({ postsUsed: 2, why: 'end', hours: 1 });
  });

  it('comes after so many posts at the latest', () => {
    const rule = { threshold: 0.5, limits: limits({ deadline: { posts: 2, hours: null } }) };
    expect(stopIn(rule, posts([0.2, 0.3, 0.9]))).toEqual({ postsUsed: 2, why: 'deadline', hours: 1 });
    expect(stopIn(rule, posts([0.2, 0.6, 0.9]))).toMatchObject({ postsUsed: 2, why: 'threshold' });
    expect(stopIn(rule, posts([0.2]))).toMatchObject({ postsUsed: 1, why: 'end' });
  });

  it('comes so long after the claim at the latest, and reads no post that came later', () => {
    const rule = { threshold: 0.5, limits: limits({ deadline: { posts: null, hours: 1 } }) };
    expect(stopIn(rule, posts([0.1, 0.1, 0.9], [0, 1, 1.01]))).toEqual({ postsUsed: 2, why: 'deadline', hours: 1 });
    expect(stopIn(rule, posts([0.1, 0.9, 0.9], [0, 1, 1.01]))).toMatchObject({ postsUsed: 2, why: 'threshold' });
    expect(stopIn(rule, posts([0.1, 0.1], [0, 1]))).toEqual({ postsUsed: 2, why: 'end', hours: 1 });
    // A post without a time counts as later.
    expect(stopIn(rule, posts([0.1, 0.9], [0, null]))).toEqual({ postsUsed: 1, why: 'deadline', hours: null });
    expect(stopIn(rule, posts([0.1, 0.9], [null, null]))).toEqual({ postsUsed: 1, why: 'deadline', hours: null });
  });

  it('counts the posts up to the limit, where the thread ends', () => {
    const rule = { threshold: 0.5, limits: limits({ maxPosts: 2 }) };
    expect(stopIn(rule, posts([0.1, 0.1, 0.9]))).toEqual({ postsUsed: 2, why: 'end', hours: 1 });
  });

  it('comes when the time is up, though no post does', () => {
    const stops = openStops({ threshold: 0.5, limits: limits({ deadline: { posts: null, hours: 1 } }) });
    expect(stops.atTime(5)).toBeNull();
    stops.afterPost({ score: 0.1, hours: 0 });
    expect(stops.atTime(0.9)).toBeNull();
    expect(stops.atTime(1.1)).toEqual({ postsUsed: 1, why: 'deadline', hours: 1 });
  });
});
