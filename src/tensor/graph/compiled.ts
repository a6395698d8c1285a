import * as tf from '@tensorflow/tfjs-core';
import type { Call, Roles, Session, Shaped, Stayed } from './engine.ts';
import { type Graph, graphKey } from './graph.ts';
import { GraphBackend } from './graph-backend.ts';
import { Meeting } from './meeting.ts';
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
 *
 * A call is asynchronous, so that the loops of several trainers can meet at it (`together`): where the runtime can, their calls run
 * as one program.
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
  readonly roles: Roles;
  readonly inputs: readonly { readonly name: string; readonly feed: Feed }[];
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
 * @param options.spends an input whose tensors each call disposes, since their successors are among the results
 */
export function compiled<I extends object, O>(
  f: (inputs: I) => O,
  { spends }: { spends?: keyof I } = {},
): (inputs: I) => Promise<O> {
  const programs = new Map<string, Program>();
  let tracedOn: GraphBackend | null = null;
  const programOf = (backend: GraphBackend, inputs: I): StepCall => {
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
    return { backend, program, tensors, spent: new Set(spentOf(inputs)) };
  };
  const spentOf = (inputs: I) => (spends === undefined ? [] : tensorsOf(inputs[spends]).map(({ tensor }) => tensor));
  const compute = (inputs: I): unknown => {
    const backend = tf.backend();
    if (!(backend instanceof GraphBackend)) return tidied(() => f(inputs));
    if (backend.isTracing) throw new Error('a compiled step cannot call another; call its function');
    const call = programOf(backend, inputs);
    return backend.gathers && meeting.isInLoop ? meeting.call(call) : run(call);
  };
  return async (inputs) => {
    const result = await compute(inputs);
    tf.dispose(spentOf(inputs));
    return result as O;
  };
}

/** `tf.tidy` for results of any type. */
export function tidied<T>(f: () => T): T {
  return tf.tidy(() => f() as tf.TensorContainer) as T;
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

/**
 * Rows by their numbers, each a row of the table: [...numbers, columns]. In graphs they stay a table and numbers until a compiled step, or
 * who reads them, needs them: a step gathers them in its graph, and nothing is copied before.
 */
export function takenRows(table: tf.Tensor2D, numbers: tf.Tensor): tf.Tensor {
  const backend = tf.backend();
  if (!(backend instanceof GraphBackend)) return tf.gather(table, numbers);
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
  backend: GraphBackend,
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
  const givenPaths = tensorsOf(inputs).map(({ path }) => path);
  const given = new Set(givenPaths);
  const stays = (value: Value, place: number) =>
    backend.hasDeviceMemory &&
    value.kind === 'float32' &&
    given.has(paths[place]) &&
    outputs.indexOf(value) === outputs.lastIndexOf(value);
  const graph = recorder.graph({ inputs: used.map(({ value }) => value), outputs: [...new Set(outputs)] });
  const staying = new Map<string, string | null>();
  for (const [place, value] of outputs.entries()) {
    if (!stays(value, place)) continue;
    const from = givenPaths.indexOf(paths[place]);
    const replaced = used.find(({ feed }) => feed.part === 'all' && feed.place === from)?.value;
    const isAlike = replaced !== undefined && tf.util.arraysEqual([...replaced.shape], [...value.shape]);
    staying.set(recorder.nameOf(value), isAlike ? recorder.nameOf(replaced) : null);
  }
  const tables = new Set(used.flatMap(({ value, feed }) => (feed.part === 'table' ? [recorder.nameOf(value)] : [])));
  return {
    graph,
    key: [graphKey(graph), ...staying].join(),
    roles: { staying, tables },
    inputs: used.map(({ value, feed }) => ({ name: recorder.nameOf(value), feed })),
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

function sessionOf({ backend, program: { graph, key, roles } }: StepCall): Session {
  return backend.session(graph, { key, roles });
}

function callOf({ backend, program, tensors, spent }: StepCall): Call {
  const given = tensors.map((tensor) => backend.valueBehind(tensor));
  if (given.some((value) => !isKnown(value) && value.taken === undefined)) backend.settle();
  const { names, roles } = program;
  const outputs = new Map<string, Shaped>();
  for (const [index, name] of names.entries()) {
    if (roles.staying.has(name)) continue;
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
  // A value that another tensor shares, or another input, is still read.
  const isSpent = (place: number) =>
    spent.has(tensors[place]) &&
    given[place].references === 1 &&
    given.filter((own) => own === given[place]).length === 1;
  const spentNames = program.inputs.flatMap(({ name, feed }) => (isSpent(feed.place) ? [name] : []));
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
