import * as tf from '@tensorflow/tfjs-core';
import type { Call, Session, Shaped, Stayed, Staying } from './engine.ts';
import { type Graph, graphKey } from './graph.ts';
import { GraphBackend } from './graph-backend.ts';
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

/** A traced function, for one set of shapes. */
interface Program {
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
  /** What the function returned, with tensors that are no more. */
  readonly result: unknown;
  isChecked: boolean;
}

/** Programs kept of one function; one that meets new shapes at every call should pad them. */
const mostPrograms = 24;

/** A call of a compiled function. */
interface StepCall {
  readonly backend: GraphBackend;
  readonly program: Program;
  readonly tensors: readonly tf.Tensor[];
  /** Those among them that the call takes for itself. */
  readonly spent: ReadonlySet<tf.Tensor>;
}

const meeting = new Meeting<StepCall, unknown>({ keyOf: ({ program }) => program.key, run: runTogether });

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
 */
export function compiled<I extends object, O, Form = void>(
  f: (inputs: I, form: Form) => O,
  { spends }: { spends?: keyof I } = {},
): (inputs: I, form: Form) => Promise<O> {
  const programs = new Map<string, Program>();
  let tracedOn: GraphBackend | null = null;
  const programOf = (backend: GraphBackend, inputs: I, form: Form): StepCall => {
    // The graphs of a device with memory of its own are others.
    if (tracedOn !== backend) programs.clear();
    tracedOn = backend;
    const given = tensorsOf(inputs);
    const key = given.reduce(
      (sum, { path, tensor: { dtype, shape } }) => `${sum}, ${path} ${dtype} ${shape}`,
      `${JSON.stringify(form)}`,
    );
    const tensors = given.map(({ tensor }) => tensor);
    const trace = () => traced(backend, { f: (own: I) => f(own, form), inputs, tensors });
    const program = programs.get(key) ?? trace();
    if (programs.has(key) && !program.isChecked) check(program, trace());
    // The one used last is the last to go.
    programs.delete(key);
    programs.set(key, program);
    const [oldest] = programs.keys();
    if (programs.size > mostPrograms) programs.delete(oldest);
    return { backend, program, tensors, spent: new Set(spentOf(inputs)) };
  };
  const spentOf = (inputs: I) => (spends === undefined ? [] : tensorsOf(inputs[spends]).map(({ tensor }) => tensor));
  const compute = (inputs: I, form: Form): unknown => {
    const backend = tf.backend();
    if (!(backend instanceof GraphBackend)) return tidied(() => f(inputs, form));
    if (backend.isTracing) throw new Error('a compiled step cannot call another; call its function');
    const call = programOf(backend, inputs, form);
    return backend.gathers && meeting.isInLoop ? meeting.call(call) : run(call);
  };
  return async (inputs, form) => {
    const result = await compute(inputs, form);
    tf.dispose(spentOf(inputs));
    return result as O;
  };
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

function traced<I>(
  backend: GraphBackend,
  { f, inputs, tensors }: { f: (inputs: I) => unknown; inputs: I; tensors: readonly tf.Tensor[] },
): Program {
  // Each input by a tensor of its own, so that one given twice is two inputs.
  const placeholders: Value[] = [];
  const { result: made, recorder } = backend.traced(() => {
    const own = tensors.map((tensor) => {
      const { shape, kind, array, resident } = backend.valueBehind(tensor);
      const value = { ...backend.made(array, { shape, kind }), resident };
      placeholders.push(value);
      return tensorOf(backend, value);
    });
    let next = 0;
    try {
      const result = tidied(() => f(rebuilt(inputs, () => own[next++]) as I));
      const returned = tensorsOf(result);
      const outputs = returned.map(({ tensor }) => backend.valueBehind(tensor));
      tf.dispose(returned.map(({ tensor }) => tensor));
      return { result, outputs, paths: returned.map(({ path }) => path) };
    } finally {
      tf.dispose(own);
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
  const givenPaths = tensorsOf(inputs).map(({ path }) => path);
  const staying = new Map<string, string | null>();
  for (const [index, value] of outputs.entries()) {
    const from = givenPaths.indexOf(paths[index]);
    const isOnce = outputs.indexOf(value) === outputs.lastIndexOf(value);
    if (!backend.hasDeviceMemory || value.kind !== 'float32' || from < 0 || !isOnce) continue;
    const replaced = used.find(({ place }) => place === from)?.value;
    const isAlike = replaced !== undefined && tf.util.arraysEqual([...replaced.shape], [...value.shape]);
    staying.set(recorder.nameOf(value), isAlike ? recorder.nameOf(replaced) : null);
  }
  return {
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

function run(step: StepCall): unknown {
  const call = callOf(step);
  return resultOf(step, call, sessionOf(step).run(call));
}

/** Calls of one program, each of another run. */
function runTogether(steps: readonly StepCall[]): unknown[] {
  const { runTogether } = sessionOf(steps[0]);
  if (runTogether === null) return steps.map(run);
  const calls = steps.map(callOf);
  const stayed = runTogether(calls);
  return steps.map((step, index) => resultOf(step, calls[index], stayed[index]));
}

function sessionOf({ backend, program: { graph, key, staying } }: StepCall): Session {
  return backend.session(graph, { key, staying });
}

function callOf({ backend, program, tensors, spent }: StepCall): Call {
  const given = tensors.map((tensor) => backend.valueBehind(tensor));
  if (!given.every(isKnown)) backend.settle();
  const { names, staying } = program;
  const outputs = new Map<string, Shaped>();
  for (const [index, name] of names.entries()) {
    if (staying.has(name)) continue;
    const known = outputs.get(name);
    // Two tensors of one value: neither may give its array away.
    if (known !== undefined) backend.keep(known.array);
    else outputs.set(name, { shape: program.outputs[index].shape, array: backend.emptyArray(program.outputs[index]) });
  }
  const inputs = new Map(program.inputs.map(({ name, place }) => [name, backend.fed(given[place])]));
  // A value that another tensor shares, or another input, is still read.
  const isSpent = (place: number) =>
    spent.has(tensors[place]) &&
    given[place].references === 1 &&
    given.filter((own) => own === given[place]).length === 1;
  const spentNames = program.inputs.flatMap(({ name, place }) => (isSpent(place) ? [name] : []));
  return { inputs, outputs, spent: new Set(spentNames) };
}

function resultOf({ backend, program }: StepCall, { outputs }: Call, stayed: Stayed): unknown {
  let next = 0;
  return rebuilt(program.result, () => {
    const { shape, kind } = program.outputs[next];
    const name = program.names[next++];
    const tensor = stayed.get(name);
    const value =
      tensor === undefined
        ? backend.made(outputs.get(name)?.array ?? null, { shape, kind })
        : backend.stayed({ tensor, kind: 'float32', shape });
    return tensorOf(backend, value);
  });
}

function tensorOf(backend: GraphBackend, value: Value): tf.Tensor {
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
