import { describe, expect, it } from 'vitest';
import { parsedExpression } from '../../../experiments/sweep/expression.ts';

const settings: Readonly<Record<string, unknown>> = {
  'agent.imitation.alpha': 0.1,
  beta: 0.2,
  gamma: 0.3,
  encoder: { name: 'hashing' },
  'encoder.name': 'hashing',
};
const of = (text: string) => parsedExpression(text).evaluate((name) => settings[name]);

describe('an expression', () => {
  it('computes with numbers, names and comparisons in the usual order', () => {
    expect(of('(1 - agent.imitation.alpha) / 2')).toBeCloseTo(0.45, 12);
    expect(of('1 + 2 * 3 - -4')).toBe(11);
    expect(of("encoder.name == 'hashing' && beta < gamma || false")).toBe(true);
    expect(of('!(beta < gamma)')).toBe(false);
  });

  it('does not take a rounding error for a difference', () => {
    expect(0.1 + 0.2 > 0.3).toBe(true);
    expect(of('agent.imitation.alpha + beta > gamma')).toBe(false);
    expect(of('agent.imitation.alpha + beta == gamma')).toBe(true);
    expect(of('agent.imitation.alpha + beta <= gamma')).toBe(true);
  });

  it('names what it reads', () => {
    expect(parsedExpression('agent.imitation.alpha + beta > 0.2 * beta').names).toEqual([
      'agent.imitation.alpha',
      'beta',
    ]);
  });

  it('refuses calls, unknown names, and what is no number', () => {
    expect(() => parsedExpression('process.exit(1)')).toThrow(/holds a CallExpression; expressions are made of/);
    expect(() => parsedExpression('alpha +')).toThrow(/"alpha \+" is no expression/);
    expect(() => of('delta > 0')).toThrow(/delta is not there; name a setting/);
    expect(() => of('encoder > 0')).toThrow(/encoder is no single value/);
    expect(() => of("'a' + 1")).toThrow(/computes with "a"; a number is needed/);
  });
});
