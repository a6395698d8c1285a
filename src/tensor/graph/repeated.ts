import * as tf from '@tensorflow/tfjs-core';
import { tidied } from './compiled.ts';
import { GraphBackend } from './graph-backend.ts';

export type Outputs = Record<string, tf.Tensor2D | null>;

/** The state after a step, and its other outputs. */
interface Step<At extends Outputs> {
  readonly state: readonly tf.Tensor2D[];
  readonly outputs: At;
}

interface Repetition<At extends Outputs> {
  readonly count: number;
  /** Disposed. */
  readonly state: readonly tf.Tensor2D[];
  /** As many parts along the first axis as there are steps. */
  readonly stacks: Readonly<Record<string, tf.Tensor>>;
  /** @param parts of the stacks */
  step(state: readonly tf.Tensor2D[], parts: Readonly<Record<string, tf.Tensor>>): Step<At>;
}

/**
 * Steps one after the other, each from the state that the last one left.
 * @returns the state after the last step, and the outputs of all of them, [steps · rows, …]
 */
export function repeated<At extends Outputs>(repetition: Repetition<At>): Step<At> {
  const backend = tf.backend();
  return backend instanceof GraphBackend && backend.scans ? scanned(backend, repetition) : unrolled(repetition);
}

function unrolled<At extends Outputs>({ count, stacks, step, ...start }: Repetition<At>): Step<At> {
  const split = Object.entries(stacks).map(([name, stack]) => [name, tf.split(stack, count, 0)] as const);
  let { state } = start;
  const all: At[] = [];
  for (let index = 0; index < count; index++) {
    const parts = Object.fromEntries(split.map(([name, parts]) => [name, parts[index]]));
    const next = tidied(() => step(state, parts));
    tf.dispose([...state]);
    state = next.state;
    all.push(next.outputs);
  }
  const outputs = Object.keys(all[0]).map((name) => {
    const parts = all.flatMap((outputs) => outputs[name] ?? []);
    const one = parts.length === 0 ? null : tf.concat(parts, 0);
    tf.dispose(parts);
    return [name, one];
  });
  return { state, outputs: Object.fromEntries(outputs) as At };
}

/** As one node with the nodes of one step: it is traced and prepared once, and stays in the processor's cache from step to step. */
function scanned<At extends Outputs>(backend: GraphBackend, { count, state, stacks, step }: Repetition<At>): Step<At> {
  const names = Object.keys(stacks);
  const shaped = Object.values(stacks).map((stack) => {
    const [length, ...others] = stack.shape;
    return tf.reshape(stack, [count, length / count, ...others]);
  });
  const made: (readonly [name: string, output: tf.Tensor | null])[] = [];
  const results = backend.scan([...state, ...shaped], state.length, (inputs) => {
    const given = inputs.map((input) => tf.engine().makeTensorFromTensorInfo(input, backend));
    const parts = Object.fromEntries(names.map((name, place) => [name, given[state.length + place]]));
    const next = tidied(() => step(given.slice(0, state.length) as tf.Tensor2D[], parts));
    made.push(...Object.entries(next.outputs));
    return [...next.state, ...made.flatMap(([, output]) => output ?? [])];
  });
  tf.dispose([...state]);
  const tensors = results.map((result) => tf.engine().makeTensorFromTensorInfo(result, backend));
  const stacked = tensors.splice(state.length);
  const outputs = made.map(([name, output]) => {
    const stack = output === null ? undefined : stacked.shift();
    // Kept beyond a tidy by the gradients.
    output?.dispose();
    if (stack === undefined) return [name, null];
    const [, rows, ...others] = stack.shape;
    return [name, tf.reshape(stack, [count * rows, ...others])];
  });
  return { state: tensors as tf.Tensor2D[], outputs: Object.fromEntries(outputs) as At };
}
