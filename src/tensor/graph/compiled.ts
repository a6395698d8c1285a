import * as tf from '@tensorflow/tfjs-core';
import type { Call, Output, Resident, Shaped, Stayed, Staying } from './engine.ts';
import { type Graph, graphKey, isSameShape, type Kind, kindOfNumbers, type Numbers } from './graph.ts';
import { GraphBackend, kindOf } from './graph-backend.ts';
import { Meeting } from './meeting.ts';
import { isKnown, type Value } from './recorder.ts';

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
 *
 * A call is asynchronous, so that the loops of several trainers can meet at it (`together`): where the runtime can, their calls run
 * as one program.
 */

/** Numbers that one call is given. They are no tensor, because making one takes as long as all else that a call does in JavaScript. */
export class Given {
  readonly array: Numbers;
  readonly shape: readonly number[];
  readonly dtype: Kind;

  constructor(array: Numbers, shape: readonly number[]) {
    this.array = array;
    this.shape = shape;
    this.dtype = kindOfNumbers(array);
  }
}

export type Leaf = tf.Tensor | Given;

/** The inputs of a step: a tensor or numbers for each tensor that its function takes. */
export type Giving<T> = T extends Given
  ? T
  : T extends tf.Tensor
    ? T | Given
    : T extends object
      ? { [Key in keyof T]: Giving<T[Key]> }
      : T;

/** Tensors as their numbers. */
export type Read<T> = T extends tf.Tensor ? Float32Array : T extends object ? { [Key in keyof T]: Read<T[Key]> } : T;

/** With numbers below some keys. */
type Result<O, Key extends keyof O> = [Key] extends [never] ? O : Omit<O, Key> & Read<Pick<O, Key>>;

/** A traced function, for one set of shapes. */
interface Program {
  /** Inputs and form that it is for, with the shapes of the tensors. */
  readonly of: unknown;
  readonly graph: Graph;
  /** Of the graph: trainings of one shape share a session. */
  readonly key: string;
  /** See `Session`. */
  readonly staying: Staying;
  /** Their names in the graph, and places among the tensors that are given. */
  readonly inputs: readonly { readonly name: string; readonly place: number }[];
  readonly outputs: readonly Pick<Value, 'shape' | 'kind'>[];
  /** Their names in the graph; two outputs may be one value. */
  readonly names: readonly string[];
  /** The value that the function returned; its tensors are disposed. */
  readonly result: unknown;
  isChecked: boolean;
}

/** Programs kept of one function; one that meets new shapes at every call should pad them. */
const mostPrograms = 24;

/** A call of a compiled function. */
interface StepCall {
  readonly backend: GraphBackend;
  readonly program: Program;
  readonly leaves: readonly Leaf[];
  /** Those among them that the call takes for itself. */
  readonly spent: readonly Leaf[];
  /** Keys of the result that are numbers. */
  readonly reads: readonly PropertyKey[];
}

const meeting = new Meeting<StepCall, unknown>({ keyOf: ({ program }) => program.key, run });

/**
 * Runs loops that call compiled functions, and gathers their calls: those of the same program run as one, where the backend can. The
 * others go on when one ends, fails, or becomes something else.
 * @returns what each loop came to, in their order
 */
export function together<T>(loops: readonly (() => Promise<T>)[]): Promise<PromiseSettledResult<T>[]> {
  return meeting.together(loops);
}

/**
 * The function, to be called in its place. What goes in and comes out are tensors, and objects and arrays of them or null.
 * The caller owns what comes out, as after a tidy. Within another compiled function the function itself is called.
 * @param f of tensors, and of what is the same in every call of a program, plain JSON
 * @param options.spends an input whose tensors each call disposes, since their successors are among the results
 * @param options.reads results that are numbers, and no tensors
 */
export function compiled<I extends object, O, Form = void, Key extends keyof O = never>(
  f: (inputs: I, form: Form) => O,
  { spends, reads = [] }: { spends?: keyof I; reads?: readonly Key[] } = {},
): (inputs: Giving<I>, form: Form) => Promise<Result<O, Key>> {
  /** The one used last is the first. */
  const programs: Program[] = [];
  let tracedOn: GraphBackend | null = null;
  const programOn = (backend: GraphBackend, inputs: object, form: Form): Program => {
    // The graphs of a device with memory of its own are others.
    if (tracedOn !== backend) programs.length = 0;
    tracedOn = backend;
    const of = { inputs, form };
    const place = programs.findIndex((program) => isLike(of, program.of));
    const [kept] = place < 0 ? [] : programs.splice(place, 1);
    const trace = () => traced(backend, (tree: I) => f(tree, form), of);
    const program = kept ?? trace();
    if (kept?.isChecked === false) check(kept, trace());
    programs.unshift(program);
    programs.length = Math.min(programs.length, mostPrograms);
    return program;
  };
  return async (inputs, form) => {
    const spent: Leaf[] = spends === undefined ? [] : leavesOf(Object(inputs)[spends]);
    const backend = tf.backend();
    let result: unknown;
    if (!(backend instanceof GraphBackend)) result = computed((tree: I) => f(tree, form), inputs, reads);
    else {
      if (backend.isTracing) throw new Error('a compiled step cannot call another; call its function');
      const call = { backend, program: programOn(backend, inputs, form), leaves: leavesOf(inputs), spent, reads };
      result = await (backend.gathers ? meeting.call(call) : run([call])[0]);
    }
    for (const leaf of spent) if (leaf instanceof tf.Tensor) leaf.dispose();
    return result as Result<O, Key>;
  };
}

/** The function's result without a graph. */
function computed<I>(f: (inputs: I) => unknown, inputs: object, reads: readonly PropertyKey[]): unknown {
  const result = tidied(() =>
    f(
      rebuilt(inputs, (leaf) =>
        leaf instanceof Given ? tf.tensor(leaf.array, [...leaf.shape], leaf.dtype) : leaf,
      ) as I,
    ),
  );
  return withNumbers(result, reads, {
    tensor: (leaf) => leaf,
    numbers(leaf) {
      if (!(leaf instanceof tf.Tensor)) return leaf;
      const numbers = leaf.dataSync();
      leaf.dispose();
      return numbers;
    },
  });
}

/** `tf.tidy` for results of any type. */
export function tidied<T>(f: () => T): T {
  return tf.tidy(() => f() as tf.TensorContainer) as T;
}

/** The tensor, copied into the device's memory if that is another. */
export function placedOnDevice<T extends tf.Tensor>(tensor: T): T {
  const backend = tf.backend();
  if (backend instanceof GraphBackend) backend.place(backend.valueBehind(tensor));
  return tensor;
}

/** A count of rows that differs from call to call, rounded up where every count needs a graph of its own. */
export function paddedCount(count: number): number {
  const backend = tf.backend();
  if (!(backend instanceof GraphBackend)) return count;
  const step = backend.gathers ? longCountStep : countStep;
  return Math.ceil(count / step) * step;
}

const countStep = 64;
/** Where compiling takes long, and runs with the same count are one program. */
const longCountStep = 256;

/** A count of rows that differs from run to run, rounded up to a power of two where runs with the same count are one program. */
export function commonCount(count: number): number {
  const backend = tf.backend();
  return backend instanceof GraphBackend && backend.gathers ? 2 ** Math.ceil(Math.log2(count)) : count;
}

function traced<I>(backend: GraphBackend, f: (inputs: I) => unknown, of: { inputs: object; form: unknown }): Program {
  const { inputs } = of;
  // Each input by a tensor of its own, so that one given twice is two inputs.
  const placeholders: Value[] = [];
  const { result: made, recorder } = backend.traced(() => {
    const created: tf.Tensor[] = [];
    const placeholder = (leaf: Leaf) => {
      const { array, resident } =
        leaf instanceof Given ? { array: leaf.array, resident: null } : backend.valueBehind(leaf);
      const value = { ...backend.made(array, { shape: leaf.shape, kind: kindOf(leaf.dtype) }), resident };
      placeholders.push(value);
      const tensor = tensorOf(backend, value);
      created.push(tensor);
      return tensor;
    };
    try {
      const result = tidied(() => f(rebuilt(inputs, placeholder) as I));
      const returned = pathsOf(result);
      const tensors = returned.flatMap(({ leaf }) => (leaf instanceof Given ? [] : [leaf]));
      const outputs = tensors.map((tensor) => backend.valueBehind(tensor));
      tf.dispose(tensors);
      return { result, outputs, paths: returned.map(({ path }) => path) };
    } finally {
      tf.dispose(created);
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
  const used = placeholders.flatMap((value, place) => (read.has(value) ? [{ value, place }] : []));
  const graph = recorder.graph({ inputs: used.map(({ value }) => value), outputs: [...new Set(outputs)] });
  const givenPaths = pathsOf(inputs).map(({ path }) => path);
  const staying = new Map<string, string | null>();
  for (const [index, value] of outputs.entries()) {
    const from = givenPaths.indexOf(paths[index]);
    const isOnce = outputs.indexOf(value) === outputs.lastIndexOf(value);
    if (!backend.hasDeviceMemory || value.kind !== 'float32' || from < 0 || !isOnce) continue;
    const replaced = used.find(({ place }) => place === from)?.value;
    const isAlike = replaced !== undefined && isSameShape(replaced.shape, value.shape);
    staying.set(recorder.nameOf(value), isAlike ? recorder.nameOf(replaced) : null);
  }
  return {
    of: rebuilt(of, ({ shape, dtype }) => ({ shape, dtype })),
    graph,
    key: [graphKey(graph), ...staying].join(),
    staying,
    inputs: used.map(({ value, place }) => ({ name: recorder.nameOf(value), place })),
    outputs: outputs.map(({ shape, kind }) => ({ shape, kind })),
    names: outputs.map((value) => recorder.nameOf(value)),
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

/** Calls of one program, each of another run. */
function run(steps: readonly StepCall[]): unknown[] {
  const [{ backend, program }] = steps;
  const { graph, key, staying } = program;
  const calls = steps.map(callOf);
  const stayed = backend.session(graph, { key, staying }).run(calls);
  return steps.map((step, index) => resultOf(step, calls[index], stayed[index]));
}

function callOf({ backend, program, leaves, spent }: StepCall): Call {
  const values = leaves.map((leaf) => (leaf instanceof Given ? leaf : backend.valueBehind(leaf)));
  if (!values.every((value) => value instanceof Given || isKnown(value))) backend.settle();
  const { names, staying } = program;
  const outputs = new Map<string, Output>();
  for (const [index, name] of names.entries()) {
    if (staying.has(name)) continue;
    const before = outputs.get(name);
    const { shape, kind } = program.outputs[index];
    // An engine that runs several calls at once makes one array for all.
    const array = backend.gathers ? null : backend.emptyArray({ shape, kind });
    // Two tensors of one value: neither may give its array away.
    if (before?.array) backend.keep(before.array);
    else outputs.set(name, { shape, kind, array });
  }
  const inputs = new Map<string, Shaped | Resident>();
  const spentNames = new Set<string>();
  for (const { name, place } of program.inputs) {
    const value = values[place];
    inputs.set(name, value instanceof Given ? value : backend.fed(value));
    // A value that another tensor shares, or another input, is still read.
    const isSpent =
      !(value instanceof Given) && value.references === 1 && values.indexOf(value) === values.lastIndexOf(value);
    if (isSpent && spent.includes(leaves[place])) spentNames.add(name);
  }
  return { inputs, outputs, spent: spentNames };
}

function resultOf({ backend, program, reads }: StepCall, { outputs }: Call, stayed: Stayed): unknown {
  let next = 0;
  return withNumbers(program.result, reads, {
    tensor() {
      const tensor = stayed.get(program.names[next]);
      const { shape, kind } = program.outputs[next];
      const array = outputs.get(program.names[next++])?.array ?? null;
      const value =
        tensor === undefined ? backend.made(array, { shape, kind }) : backend.stayed({ tensor, kind, shape });
      return tensorOf(backend, value);
    },
    numbers() {
      const array = outputs.get(program.names[next++])?.array ?? null;
      // Whoever reads it may keep it.
      if (array !== null) backend.keep(array);
      return array;
    },
  });
}

function tensorOf(backend: GraphBackend, value: Value): tf.Tensor {
  return tf.engine().makeTensorFromTensorInfo(backend.tensorOf(value), backend);
}

/** Whether a tree is like one whose leaves are shapes. Plain loops, for it is asked at every call. */
function isLike(tree: unknown, other: unknown): boolean {
  if (!isTree(tree) || !isTree(other)) return tree === other;
  if (tree instanceof tf.Tensor || tree instanceof Given)
    return other.dtype === tree.dtype && Array.isArray(other.shape) && isSameShape(tree.shape, other.shape);
  const names = Object.keys(tree);
  if (names.length !== Object.keys(other).length) return false;
  for (const name of names) if (!isLike(tree[name], other[name])) return false;
  return true;
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The leaves of a tree. */
function leavesOf(tree: unknown, leaves: Leaf[] = []): Leaf[] {
  if (tree instanceof tf.Tensor || tree instanceof Given) leaves.push(tree);
  else if (isTree(tree)) for (const branch of Object.values(tree)) leavesOf(branch, leaves);
  return leaves;
}

/** The leaves of a tree, each with where it stands. */
function pathsOf(tree: unknown, path = '', leaves: { path: string; leaf: Leaf }[] = []): typeof leaves {
  if (tree instanceof tf.Tensor || tree instanceof Given) leaves.push({ path, leaf: tree });
  else if (tree !== null && tree !== undefined) {
    if (typeof tree !== 'object')
      throw new Error(
        `a compiled step was given ${path} = ${String(tree)}; make it a tensor, or it would never change`,
      );
    for (const [name, branch] of Object.entries(tree)) pathsOf(branch, `${path}.${name}`, leaves);
  }
  return leaves;
}

/** Copies a tree with other leaves. */
function rebuilt(tree: unknown, next: (leaf: Leaf) => unknown): unknown {
  if (tree instanceof tf.Tensor || tree instanceof Given) return next(tree);
  if (tree === null || typeof tree !== 'object') return tree;
  if (Array.isArray(tree)) return tree.map((branch) => rebuilt(branch, next));
  const copy: Record<string, unknown> = {};
  for (const [name, branch] of Object.entries(tree)) copy[name] = rebuilt(branch, next);
  return copy;
}

/** A result, whose leaves are numbers below some keys. */
function withNumbers(
  result: unknown,
  reads: readonly PropertyKey[],
  { tensor, numbers }: Record<'tensor' | 'numbers', (leaf: Leaf) => unknown>,
): unknown {
  if (reads.length === 0 || typeof result !== 'object' || result === null) return rebuilt(result, tensor);
  const entries = Object.entries(result).map(([key, value]) => [
    key,
    rebuilt(value, reads.includes(key) ? numbers : tensor),
  ]);
  return Object.fromEntries(entries);
}
