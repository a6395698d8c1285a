import { setImmediate as nextTurn } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs-core';
import { type AdamOptions, adamStep, adopt, type Moving, nextAdamSteps, type Optimized } from './adam.ts';
import { gradientsOf } from './gradients.ts';
import { compiled, tidied } from './graph/compiled.ts';
import { mapTensors, namesOf, type Tensors } from './operations.ts';

/**
 * Descent of a loss by Adam, compiled: a step for each batch, several in one graph. The loss also says what else of it is wanted
 * (`seen`), as it was before the step.
 * @param lossOf the loss, from the parameters, one of the batches, and what all batches share
 * @param lookBack what is wanted of the parameters after the last step, in the same graph; null for nothing
 * @returns a function that moves the state, draws the batches in turn and disposes them, and returns what was seen at each step and
 *   after the last one, for the caller to dispose
 */
export function descent<
  Name extends string,
  Batch extends object,
  Shared extends object,
  Seen extends object,
  After extends object | null,
>(
  lossOf: (parameters: Tensors<Name>, batch: Batch, shared: Shared) => { loss: tf.Tensor; seen: Seen },
  lookBack: (parameters: Tensors<Name>, shared: Shared) => After,
) {
  const steps = compiled(
    (inputs: { state: Moving<Name>; batches: readonly Batch[]; shared: Shared; adam: tf.Tensor2D }) => {
      const { pack, unpack } = layoutOf(inputs.state.parameters);
      let state = mapMoving(inputs.state, pack);
      const seen: Seen[] = [];
      const numbers = tf.split<tf.Tensor2D>(inputs.adam, inputs.batches.length, 0);
      for (const [index, batch] of inputs.batches.entries()) {
        const step = tidied(() => {
          const at = gradientsOf(unpack(state.parameters), (parameters) => lossOf(parameters, batch, inputs.shared));
          return { state: adamStep(state, pack(at.gradients), numbers[index]), seen: at.seen };
        });
        // Parameters that no later step reads.
        if (index > 0) tf.dispose(state);
        state = step.state;
        seen.push(step.seen);
      }
      const moved = mapMoving(state, unpack);
      return { state: moved, seen, after: lookBack(moved.parameters, inputs.shared) };
    },
    { spends: 'state' },
  );
  return async (
    state: Optimized<Name>,
    options: { batches: readonly (() => Batch)[]; shared: Shared; adam: AdamOptions },
  ): Promise<{ seen: Seen[]; after: After }> => {
    const { batches, shared } = options;
    const seen: Seen[] = [];
    let last: { after: After } | null = null;
    const atOnce = stepsAtOnce(batches.length);
    for (let start = 0; start < batches.length; start += atOnce) {
      const some = batches.slice(start, start + atOnce).map((draw) => draw());
      const adam = nextAdamSteps(state, { ...options.adam, count: some.length });
      const { parameters, gradientSums, squareSums } = state;
      const moved = await steps({ state: { parameters, gradientSums, squareSums }, batches: some, shared, adam });
      adopt(state, moved.state);
      seen.push(...moved.seen);
      if (last?.after) tf.dispose(Object.values(last.after));
      last = moved;
      tf.dispose([adam, ...some.map((own) => Object.values(own))]);
      await turn();
    }
    if (last === null) throw new Error('a descent takes at least one step');
    return { seen, after: last.after };
  };
}

/** How parameters and their moments lie while they are moved. */
interface Layout<Name extends string> {
  readonly pack: (tensors: Tensors<Name>) => Tensors;
  readonly unpack: (tensors: Tensors) => Tensors<Name>;
}

/**
 * In a graph all parameters are one row, for a node costs about as much as the numbers of a small tensor: an update then has
 * a third fewer nodes. Elsewhere every tensor is moved by itself.
 */
function layoutOf<Name extends string>(parameters: Tensors<Name>): Layout<Name> {
  const names = namesOf(parameters);
  if (tf.getBackend() !== 'graph')
    return { pack: (own) => own, unpack: (own) => mapTensors(parameters, (_, name) => own[name]) };
  const shapes = names.map((name) => parameters[name].shape);
  return {
    pack: (own) => ({
      all: tf.concat(
        names.map((name) => tf.reshape<tf.Rank.R2>(own[name], [1, -1])),
        1,
      ),
    }),
    unpack: ({ all }) => {
      const parts = tf.split(
        all,
        shapes.map(([rows, columns]) => rows * columns),
        1,
      );
      return mapTensors(parameters, (_, name) => {
        const place = names.indexOf(name);
        return tf.reshape<tf.Rank.R2>(parts[place], shapes[place]);
      });
    },
  };
}

function mapMoving<From extends string, To extends string>(
  { parameters, gradientSums, squareSums }: Moving<From>,
  map: (tensors: Tensors<From>) => Tensors<To>,
): Moving<To> {
  return { parameters: map(parameters), gradientSums: map(gradientSums), squareSums: map(squareSums) };
}

/**
 * All updates of an iteration with the defaults, 15 of the discriminator and 16 of the policy, are a graph each: copying parameters in and
 * out costs more than that the graph is prepared, half a second a training. Each step takes the memory of its batch.
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
