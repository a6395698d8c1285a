import * as tf from '@tensorflow/tfjs-core';
import { arrayOf, OnnxBackend } from './backend.ts';
import type { Shaped } from './engine.ts';
import type { Value } from './recorder.ts';

/*
 * Steps of training as graphs. A function of tensors is traced once for the shapes of its inputs, on the backend that records,
 * and its graph replayed from then on: nothing of tfjs runs any more. On other backends it is the function in a tidy.
 *
 * What is not among the inputs is a constant of the graph. So whatever changes from call to call must be a tensor there, a
 * learning rate like a minibatch; the second call with the same shapes traces again and compares, so that a number which was
 * baked in is refused instead of used.
 */

/** A traced function, for one set of shapes. */
interface Program {
  readonly file: Uint8Array;
  /** For each of the graph's inputs, its name and its place among the tensors given. */
  readonly inputs: readonly { readonly name: string; readonly place: number }[];
  readonly outputs: readonly Pick<Value, 'shape' | 'kind'>[];
  /** Their names in the graph; two outputs may be one value. */
  readonly names: readonly string[];
  /** What the function returned, with tensors that are no more. */
  readonly result: unknown;
  isChecked: boolean;
}

/** Programs kept of one function; one that meets new shapes at every call should pad them. */
const mostPrograms = 24;

let functionCount = 0;

/**
 * The function, to be called in its place. What goes in and comes out are tensors, and objects and arrays of them or null.
 * The caller owns what comes out, as after a tidy.
 */
export function compiled<I, O>(f: (inputs: I) => O): (inputs: I) => O {
  const id = functionCount++;
  const programs = new Map<string, Program>();
  const compute = (inputs: I): unknown => {
    const backend = tf.backend();
    if (!(backend instanceof OnnxBackend) || backend.isTracing) return tidied(() => f(inputs));
    const given = tensorsOf(inputs);
    const shapes = given.map(({ path, tensor }) => `${path} ${tensor.dtype} ${tensor.shape}`).join(', ');
    const tensors = given.map(({ tensor }) => tensor);
    const trace = () => traced(backend, { f, inputs, tensors });
    const program = programs.get(shapes) ?? trace();
    if (programs.has(shapes) && !program.isChecked) check(program, trace());
    // The one used last is the last to go.
    programs.delete(shapes);
    programs.set(shapes, program);
    const [oldest] = programs.keys();
    if (programs.size > mostPrograms) programs.delete(oldest);
    return run(backend, { program, tensors, key: `${id}: ${shapes}` });
  };
  return (inputs) => compute(inputs) as O;
}

/** `tf.tidy` for results of any type. */
export function tidied<T>(f: () => T): T {
  return tf.tidy(() => f() as tf.TensorContainer) as T;
}

/** A count of rows that differs from call to call, rounded up where every count needs a graph of its own. */
export function paddedCount(count: number): number {
  return tf.getBackend() === 'onnx' ? Math.ceil(count / countStep) * countStep : count;
}

const countStep = 64;

/**
 * An array to fill and make a tensor of at once. On onnx it is one that a disposed tensor left, whatever stands in it: arrays lie
 * outside of V8's heap, and V8 collects all of the heap when new ones add up, which they would in an iteration of a training.
 */
export function emptyNumbers(length: number): Float32Array {
  const backend = tf.backend();
  return backend instanceof OnnxBackend ? backend.emptyNumbers(length) : new Float32Array(length);
}

function traced<I>(
  backend: OnnxBackend,
  { f, inputs, tensors }: { f: (inputs: I) => unknown; inputs: I; tensors: readonly tf.Tensor[] },
): Program {
  // Each input by a tensor of its own, so that one given twice is two inputs.
  const placeholders: Value[] = [];
  const { result: made, recorder } = backend.traced(() => {
    const own = tensors.map((tensor) => {
      const { shape, kind, array } = backend.valueBehind(tensor);
      const placeholder = backend.made(array, { shape, kind });
      placeholders.push(placeholder);
      return tensorOf(backend, placeholder);
    });
    let next = 0;
    try {
      const result = tidied(() => f(rebuilt(inputs, () => own[next++]) as I));
      const returned = tensorsOf(result).map(({ tensor }) => tensor);
      const outputs = returned.map((tensor) => backend.valueBehind(tensor));
      tf.dispose(returned);
      return { result, outputs };
    } finally {
      tf.dispose(own);
    }
  });
  const { result, outputs } = made;
  for (const value of outputs)
    if (value.recorder !== recorder || value.array !== null)
      throw new Error('a compiled step returns a tensor that it did not compute; return what it makes of its inputs');
  for (const value of recorder.read)
    if (value.recorder !== recorder)
      throw new Error(
        `a compiled step reads a tensor of shape [${value.shape}] that is not among its inputs; pass it in`,
      );
  const read = new Set(recorder.read);
  const used = placeholders.flatMap((value, place) => (read.has(value) ? [{ value, place }] : []));
  return {
    file: recorder.file({ inputs: used.map(({ value }) => value), outputs: [...new Set(outputs)] }),
    inputs: used.map(({ value, place }) => ({ name: recorder.nameOf(value), place })),
    outputs: outputs.map(({ shape, kind }) => ({ shape, kind })),
    names: outputs.map((value) => recorder.nameOf(value)),
    result,
    isChecked: false,
  };
}

function check(first: Program, second: Program): void {
  if (Buffer.compare(first.file, second.file) !== 0)
    throw new Error(
      'a compiled step computes something else at its second call: a number that changes is a constant of its graph; pass it in as a tensor',
    );
  first.isChecked = true;
}

function run(
  backend: OnnxBackend,
  { program, tensors, key }: { program: Program; tensors: readonly tf.Tensor[]; key: string },
): unknown {
  const given = tensors.map((tensor) => backend.valueBehind(tensor));
  if (given.some(({ array }) => array === null)) backend.settle();
  const outputs = new Map<string, Shaped>();
  for (const [index, name] of program.names.entries()) {
    const known = outputs.get(name);
    // Two tensors of one value: neither may give its array away.
    if (known !== undefined) backend.keep(known.array);
    else outputs.set(name, { shape: program.outputs[index].shape, array: backend.emptyArray(program.outputs[index]) });
  }
  backend
    .session(program.file, key)
    .run(
      new Map(
        program.inputs.map(({ name, place }) => [name, { shape: given[place].shape, array: arrayOf(given[place]) }]),
      ),
      outputs,
    );
  let next = 0;
  return rebuilt(program.result, () => {
    const array = outputs.get(program.names[next])?.array ?? null;
    return tensorOf(backend, backend.made(array, program.outputs[next++]));
  });
}

function tensorOf(backend: OnnxBackend, value: Value): tf.Tensor {
  return tf.engine().makeTensorFromTensorInfo(backend.tensorOf(value), backend);
}

/** The tensors in a tree, each with where it stands. */
function tensorsOf(tree: unknown, path = ''): { path: string; tensor: tf.Tensor }[] {
  if (tree instanceof tf.Tensor) return [{ path, tensor: tree }];
  if (tree === null || tree === undefined) return [];
  if (typeof tree !== 'object')
    throw new Error(`a compiled step was given ${path} = ${String(tree)}; make it a tensor, or it would never change`);
  return Object.entries(tree).flatMap(([name, own]) => tensorsOf(own, `${path}.${name}`));
}

/** The same tree with other tensors. */
function rebuilt(tree: unknown, next: () => tf.Tensor): unknown {
  if (tree instanceof tf.Tensor) return next();
  if (tree === null || typeof tree !== 'object') return tree;
  if (Array.isArray(tree)) return tree.map((own) => rebuilt(own, next));
  return Object.fromEntries(Object.entries(tree).map(([name, own]) => [name, rebuilt(own, next)]));
}
