import { createHash } from 'node:crypto';
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

/**
 * A seeded stream of random numbers (xoroshiro128+) whose state can be saved. All random numbers of Earshot come from
 * such streams. Streams of one seed with different `purpose` are independent, so that a new consumer disturbs no other.
 */
export class Random {
  private generator;

  private constructor(state: readonly number[]) {
    this.generator = xoroshiro128plusFromState(state);
  }

  /** The stream of a seed and purpose, at its beginning. */
  static seeded(options: { seed: number; purpose: string }): Random {
    const digest = createHash('sha256').update(`${options.seed}\n${options.purpose}`).digest();
    return new Random([0, 4, 8, 12].map((offset) => digest.readInt32LE(offset)));
  }

  /** A stream that continues from a saved state. */
  static fromState(state: readonly number[]): Random {
    return new Random(state);
  }

  /** Four 32-bit integers that decide all further draws. */
  state(): number[] {
    return [...this.generator.getState()];
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return uniformFloat64(this.generator);
  }

  /** Fills an array with uniform numbers in [0, 1). */
  fill(numbers: Float32Array, { start = 0, end = numbers.length }: { start?: number; end?: number } = {}): void {
    for (let index = start; index < end; index++) numbers[index] = this.uniform();
  }

  /** Uniform integer in [0, bound). */
  integer(bound: number): number {
    return Math.floor(this.uniform() * bound);
  }

  /** Standard normal, by Box–Muller. The second value is dropped, so that the state alone decides the next draw. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** A uniform permutation of 0 … length − 1 (Fisher–Yates), written into `order`. */
  permutation(length: number, order: Int32Array = new Int32Array(length)): Int32Array {
    // Plain loops: trainers draw thousands in an iteration, and these take a quarter of the time.
    for (let index = 0; index < length; index++) order[index] = index;
    for (let last = length - 1; last > 0; last--) {
      const other = this.integer(last + 1);
      const moved = order[last];
      order[last] = order[other];
      order[other] = moved;
    }
    return order;
  }

  /** A copy in random order, every order equally likely. */
  shuffled<T>(items: readonly T[]): T[] {
    return Array.from(this.permutation(items.length), (index) => items[index]);
  }
}
