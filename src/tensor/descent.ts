import { setImmediate as nextTurn } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs-core';
import { type AdamOptions, adamStep, nextAdamSteps, type Optimized } from './adam.ts';
import { gradientsOf } from './gradients.ts';
import { compiled, Given, type Giving, type Read } from './graph/compiled.ts';
import { type Outputs, repeated } from './graph/repeated.ts';
import { type Shapes, type Tensors, unpacked } from './operations.ts';
import { gathered, type RowTable, type TakenRows } from './row-table.ts';

/** A column of all batches, one batch behind the other: numbers, or rows of a table. */
export type Stack =
  | { readonly numbers: Float32Array; readonly width: number }
  | { readonly states: RowTable; readonly rows: Int32Array };

/**
 * Descent of a loss by Adam, compiled: a step for each batch, several in one graph. The loss also says what else of it is wanted
 * (`outputs`), as it was before the step.
 * @param lossOf the loss, from the parameters, one of the batches, and what all batches share
 * @param lookBack what is wanted of the parameters after the last step, in the same graph
 * @returns a function that moves the state, and returns the outputs of the steps and after the last one
 */
export function descent<
  Name extends string,
  Batch extends Record<string, tf.Tensor2D>,
  Shared extends object,
  At extends Outputs,
  After extends Outputs,
>(
  lossOf: (parameters: Tensors<Name>, batch: Batch, shared: Shared) => { loss: tf.Tensor; outputs: At },
  lookBack: (parameters: Tensors<Name>, shared: Shared) => After,
) {
  interface Inputs {
    moving: tf.Tensor2D;
    batches: Record<string, tf.Tensor2D | TakenRows>;
    shared: Shared;
    adam: tf.Tensor2D;
  }
  const steps = compiled(
    ({ moving, batches, shared, adam }: Inputs, shapes: Shapes<Name>) => {
      const [count, width] = adam.shape;
      const stacks = Object.entries(batches).map(([name, stack]) => [
        name,
        stack instanceof tf.Tensor ? stack : (stack.taken as tf.Tensor),
      ]);
      const { state, outputs } = repeated({
        count,
        state: tf.split<tf.Tensor2D>(moving, 3, 0),
        stacks: { ...Object.fromEntries(stacks), adam },
        step([parameters, ...moments], { adam, ...parts }) {
          const batch = Object.entries(batches).map(([name, stack]) => [
            name,
            stack instanceof tf.Tensor ? parts[name] : gathered({ table: stack.table, taken: parts[name] }),
          ]);
          const at = gradientsOf(unpacked(parameters, shapes), (parameters) =>
            lossOf(parameters, Object.fromEntries(batch), shared),
          );
          const numbers = tf.split<tf.Tensor2D>(adam, width, 1);
          return {
            state: adamStep([parameters, ...moments], Object.values(at.gradients), numbers),
            outputs: at.outputs,
          };
        },
      });
      const after = lookBack(unpacked(state[0], shapes), shared);
      return { moving: tf.concat([...state], 0), outputs, after };
    },
    { spends: 'moving', reads: ['outputs', 'after'] },
  );
  return async (
    state: Optimized<Name>,
    options: { count: number; batches: Record<keyof Batch, Stack>; shared: Giving<Shared>; adam: AdamOptions },
  ): Promise<{ outputs: Read<At>; after: Read<After> }> => {
    const { count, shared } = options;
    const parts: { outputs: Read<At>; after: Read<After> }[] = [];
    const atOnce = stepsAtOnce(count);
    for (let start = 0; start < count; start += atOnce) {
      const some = Math.min(atOnce, count - start);
      const batches = Object.fromEntries(
        Object.entries<Stack>(options.batches).map(([name, stack]) => [name, part(stack, { start, some, count })]),
      );
      const adam = nextAdamSteps(state, { ...options.adam, count: some });
      const moved = await steps({ moving: state.moving, batches, shared, adam }, state.shapes);
      state.moving = moved.moving;
      parts.push(moved);
      await turn();
    }
    return { outputs: joined(parts.map(({ outputs }) => outputs)), after: parts[parts.length - 1].after };
  };
}

/** The batches of some of the steps. */
function part(stack: Stack, { start, some, count }: { start: number; some: number; count: number }): Given | TakenRows {
  const length = ('rows' in stack ? stack.rows : stack.numbers).length / count;
  const [from, to] = [length * start, length * (start + some)];
  if ('rows' in stack) return stack.states.take(stack.rows.subarray(from, to));
  return new Given(stack.numbers.subarray(from, to), [(to - from) / stack.width, stack.width]);
}

function joined<At extends Outputs>(parts: readonly Read<At>[]): Read<At> {
  if (parts.length === 1) return parts[0];
  const kinds = Object.keys(parts[0]).map((kind) => {
    const all = parts.flatMap((part: Record<string, Float32Array | null>) => [...(part[kind] ?? [])]);
    return [kind, all.length === 0 ? null : new Float32Array(all)];
  });
  return Object.fromEntries(kinds);
}

/**
 * All updates of an iteration with the defaults, 15 of the discriminator and 16 of the policy, are a graph each, because parameters are
 * copied in and out. More would take long to compile for XLA, whose programs repeat nothing.
 */
const mostSteps = 16;

/** Equal parts where there are any, for every length is a graph of its own. */
function stepsAtOnce(steps: number): number {
  const fewest = Math.ceil(steps / mostSteps);
  for (let parts = fewest; parts <= 2 * fewest; parts++) if (steps % parts === 0) return steps / parts;
  return Math.ceil(steps / fewest);
}

/** Steps block the event loop; timers and signals have their turn as often as this. */
const longestTurnMs = 100;
let turnMs = performance.now();

async function turn(): Promise<void> {
  if (performance.now() - turnMs < longestTurnMs) return;
  await nextTurn();
  turnMs = performance.now();
}
