import { type Kind, numbersOfKind } from './graph/graph.ts';

/**
 * Arrays that are filled again and again. Large new ones lie outside of V8's heap, and V8 collects all of its heap when they add up,
 * which they would in every iteration of a training.
 */
export class Scratch {
  private readonly arrays = new Map<string, object>();

  /** The array of this name, kind and length, with what was left in it. */
  array<Own extends Kind>(kind: Own, length: number, name = ''): InstanceType<(typeof numbersOfKind)[Own]> {
    const key = `${name} ${kind} ${length}`;
    const Numbers = numbersOfKind[kind];
    const array = this.arrays.get(key) ?? new Numbers(length);
    this.arrays.set(key, array);
    return array as InstanceType<(typeof numbersOfKind)[Own]>;
  }
}
