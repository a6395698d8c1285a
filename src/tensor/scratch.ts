import { type Kind, type Numbers, numbersOfKind } from './graph/graph.ts';

/**
 * Arrays that are filled again and again. Large new ones lie outside of V8's heap, and V8 collects all of its heap when they add up,
 * which they would in every iteration of a training.
 */
export class Scratch {
  private readonly arrays = new Map<string, Numbers>();

  /** The array of this name, with what was left in it; a new one where the last was of another kind or length. */
  array<Own extends Kind>(name: string, kind: Own, length: number): InstanceType<(typeof numbersOfKind)[Own]> {
    let array = this.arrays.get(name);
    if (array?.length !== length || !(array instanceof numbersOfKind[kind])) {
      array = new numbersOfKind[kind](length);
      this.arrays.set(name, array);
    }
    return array as InstanceType<(typeof numbersOfKind)[Own]>;
  }
}
