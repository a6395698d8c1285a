import * as tf from '@tensorflow/tfjs-core';
import type { Shaped } from '../engine.ts';
import { type Graph, graphKey } from '../graph.ts';
import { OnnxBackend } from './backend.ts';
import { isKnown, type TakenRows, type Value } from './recorder.ts';

/*
 * Steps of training as graphs. A function of tensors is traced once for the shapes of its inputs, on the backend that records,
 * and its graph replayed from then on: nothing of tfjs runs any more. On other backends it is the function in a tidy.
 *
 * What is not among the inputs is a constant of the graph. So whatever changes from call to call must be a tensor there, a
 * learning rate like a minibatch; the second call with the same shapes traces again and compares, so that a number which was
 * baked in is refused instead of used.
 *
 * On a device with memory of its own, a result that stands where an input stood, such as the weights that a step moves, stays
 * there: it is what the next call is given. It comes back when somebody reads it.
 */

/** What an input of a graph holds: the tensor at a place among those given, or one of both parts of rows that are taken there. */
interface Feed {
  readonly place: number;
  readonly part: 'all' | keyof TakenRows;
}

/** A traced function, for one set of shapes. */
interface Program {
  readonly graph: Graph;
  /** Of the graph: trainings of one shape share a session. */
  readonly key: string;
  readonly inputs: readonly { readonly name: string; readonly feed: Feed }[];
  readonly outputs: readonly Pick<Value, 'shape' | 'kind'>[];
  /** Their names in the graph; two outputs may be one value. */
  readonly names: readonly string[];
  /** Names of those that stay on the device. */
  readonly staying: readonly string[];
  /** What the function returned, with tensors that are no more. */
  readonly result: unknown;
  isChecked: boolean;
}

/** Programs kept of one function; one that meets new shapes at every call should pad them. */
const mostPrograms = 24;

/**
 * The function, to be called in its place. What goes in and comes out are tensors, and objects and arrays of them or null.
 * The caller owns what comes out, as after a tidy.
 */
export function compiled<I, O>(f: (inputs: I) => O): (inputs: I) => O {
  const programs = new Map<string, Program>();
  let tracedOn: OnnxBackend | null = null;
  const compute = (inputs: I): unknown => {
    const backend = tf.backend();
    if (!(backend instanceof OnnxBackend) || backend.isTracing) return tidied(() => f(inputs));
    // The graphs of a device with memory of its own are others.
    if (tracedOn !== backend) programs.clear();
    tracedOn = backend;
    const given = tensorsOf(inputs);
    const values = given.map(({ tensor }) => backend.valueBehind(tensor));
    const shapes = given
      .map(({ path, tensor }, place) => `${path} ${tensor.dtype} ${tensor.shape}${takenFrom(values, place)}`)
      .join(', ');
    const tensors = given.map(({ tensor }) => tensor);
    const trace = () => traced(backend, { f, inputs, tensors });
    const program = programs.get(shapes) ?? trace();
    if (programs.has(shapes) && !program.isChecked) check(program, trace());
    // The one used last is the last to go.
    programs.delete(shapes);
    programs.set(shapes, program);
    const [oldest] = programs.keys();
    if (programs.size > mostPrograms) programs.delete(oldest);
    return run(backend, { program, tensors });
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
 * Rows by their numbers, each a row of the table: [...numbers, columns]. On onnx they stay a table and numbers until a compiled step, or
 * who reads them, needs them: a step gathers them in its graph, and nothing is copied before.
 */
export function takenRows(table: tf.Tensor2D, numbers: tf.Tensor): tf.Tensor {
  const backend = tf.backend();
  if (!(backend instanceof OnnxBackend)) return tf.gather(table, numbers);
  const [of, by] = [table, numbers].map((tensor) => {
    const value = backend.valueBehind(tensor);
    if (value.array === null) throw new Error('a table of rows and the numbers of rows must be arrays, not results');
    return value;
  });
  return tf.engine().makeTensorFromTensorInfo(backend.takenRows({ table: of, numbers: by }), backend);
}

/** Which tensors take rows is a part of a graph, and which of them from one table. */
function takenFrom(values: readonly Value[], place: number): string {
  const { taken, array } = values[place];
  if (taken === undefined || array !== null) return '';
  const first = values.findIndex((other) => other.taken?.table === taken.table);
  return ` by ${taken.numbers.shape} from ${taken.table.shape} of ${first}`;
}

function traced<I>(
  backend: OnnxBackend,
  { f, inputs, tensors }: { f: (inputs: I) => unknown; inputs: I; tensors: readonly tf.Tensor[] },
): Program {
  // Each input by a tensor of its own, so that one given twice is two inputs.
  const placeholders: { value: Value; feed: Feed }[] = [];
  const { result: made, recorder } = backend.traced(() => {
    const placeholder = (feed: Feed, { shape, kind, array, resident }: Value) => {
      const value = { ...backend.made(array, { shape, kind }), resident };
      placeholders.push({ value, feed });
      return tensorOf(backend, value);
    };
    const tables = new Map<Value, tf.Tensor>();
    const own = tensors.map((tensor, place) => {
      const value = backend.valueBehind(tensor);
      if (value.taken === undefined || value.array !== null) return placeholder({ place, part: 'all' }, value);
      const { table, numbers } = value.taken;
      const from = tables.get(table) ?? placeholder({ place, part: 'table' }, table);
      tables.set(table, from);
      const by = placeholder({ place, part: 'numbers' }, numbers);
      const rows = tf.gather(from, by);
      by.dispose();
      return rows;
    });
    let next = 0;
    try {
      const result = tidied(() => f(rebuilt(inputs, () => own[next++]) as I));
      const returned = tensorsOf(result);
      const outputs = returned.map(({ tensor }) => backend.valueBehind(tensor));
      tf.dispose(returned.map(({ tensor }) => tensor));
      return { result, outputs, paths: returned.map(({ path }) => path) };
    } finally {
      tf.dispose([own, [...tables.values()]]);
    }
  });
  const { result, outputs, paths } = made;
  for (const value of outputs)
    if (value.recorder !== recorder || isKnown(value))
      throw new Error('a compiled step returns a tensor that it did not compute; return what it makes of its inputs');
  for (const value of recorder.read)
    if (value.recorder !== recorder)
      throw new Error(
        `a compiled step reads a tensor of shape [${value.shape}] that is not among its inputs; pass it in`,
      );
  const read = new Set(recorder.read);
  const used = placeholders.filter(({ value }) => read.has(value));
  const given = new Set(tensorsOf(inputs).map(({ path }) => path));
  const stays = (value: Value, place: number) =>
    backend.hasDeviceMemory &&
    value.kind === 'float32' &&
    given.has(paths[place]) &&
    outputs.indexOf(value) === outputs.lastIndexOf(value);
  const graph = recorder.graph({ inputs: used.map(({ value }) => value), outputs: [...new Set(outputs)] });
  const staying = outputs.filter(stays).map((value) => recorder.nameOf(value));
  return {
    graph,
    key: [graphKey(graph), ...staying].join(),
    inputs: used.map(({ value, feed }) => ({ name: recorder.nameOf(value), feed })),
    outputs: outputs.map(({ shape, kind }) => ({ shape, kind })),
    names: outputs.map((value) => recorder.nameOf(value)),
    staying,
    result,
    isChecked: false,
  };
}

function check(first: Program, second: Program): void {
  if (first.key !== second.key)
    throw new Error(
      'a compiled step computes something else at its second call: a number that changes is a constant of its graph; pass it in as a tensor',
    );
  first.isChecked = true;
}

function run(backend: OnnxBackend, { program, tensors }: { program: Program; tensors: readonly tf.Tensor[] }): unknown {
  const given = tensors.map((tensor) => backend.valueBehind(tensor));
  if (given.some((value) => !isKnown(value) && value.taken === undefined)) backend.settle();
  const { graph, key, names, staying } = program;
  const outputs = new Map<string, Shaped>();
  for (const [index, name] of names.entries()) {
    if (staying.includes(name)) continue;
    const known = outputs.get(name);
    // Two tensors of one value: neither may give its array away.
    if (known !== undefined) backend.keep(known.array);
    else outputs.set(name, { shape: program.outputs[index].shape, array: backend.emptyArray(program.outputs[index]) });
  }
  const inputs = new Map(
    program.inputs.map(({ name, feed: { place, part } }) => {
      const { taken } = given[place];
      return [name, backend.fed(part === 'all' || taken === undefined ? given[place] : taken[part])];
    }),
  );
  const stayed = backend.session(graph, { key, staying }).run(inputs, outputs);
  let next = 0;
  return rebuilt(program.result, () => {
    const { shape, kind } = program.outputs[next];
    const name = names[next++];
    const tensor = stayed.get(name);
    const value =
      tensor === undefined
        ? backend.made(outputs.get(name)?.array ?? null, { shape, kind })
        : backend.stayed({ tensor, kind: 'float32', shape });
    return tensorOf(backend, value);
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
