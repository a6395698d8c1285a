import { createHash } from 'node:crypto';
import { ProviderError } from '../../errors.ts';
import {
  type Call,
  countIn,
  type DeviceTensor,
  type Engine,
  newTraffic,
  type Resident,
  type Session,
  type Shaped,
  type Stayed,
  type Staying,
  type Traffic,
} from '../graph/engine.ts';
import {
  type Graph,
  type GraphValue,
  type Kind,
  kindOfNumbers,
  type Numbers,
  named,
  numbersOfKind,
  sizeOf,
} from '../graph/graph.ts';
import { Scratch } from '../scratch.ts';
import { type Executable, type Handle, type Pjrt, PjrtError } from './pjrt.ts';
import { runFailure } from './plugin-failure.ts';
import { resultLayout, stablehlo } from './stablehlo.ts';

/*
 * Compiled steps on XLA. Calls of several runs become one program with a leading axis, a lane for each run, and what stays on the
 * device stays stacked. A run keeps its lane: when another one ends or fails, its lane computes on and nobody reads it, so the others
 * go on with the same program and end with the same bytes.
 */

/** The methods of a client that the engine calls. */
export type XlaClient = Pick<Pjrt, 'upload' | 'execute' | 'download' | 'free' | 'unload' | 'deviceKind'>;

/** A buffer on the device, of one run or with a lane for each of several. */
class Stack {
  readonly handle: Handle;
  /** 0 without a leading axis. */
  readonly lanes: number;
  users = 0;
  private readonly client: XlaClient;
  private readonly onFreed: () => void;
  private fetched: Numbers | null = null;

  constructor(client: XlaClient, of: { handle: Handle; lanes: number; onFreed?: () => void }) {
    this.client = client;
    this.handle = of.handle;
    this.lanes = of.lanes;
    this.onFreed = of.onFreed ?? (() => {});
  }

  release(): void {
    this.users--;
    if (this.users > 0) return;
    this.client.free(this.handle);
    this.onFreed();
  }

  /** All lanes; fetched once, for one lane's numbers are seldom wanted alone. */
  numbers({ shape, kind }: { shape: readonly number[]; kind: Kind }): Numbers {
    if (this.fetched === null) {
      this.fetched = new numbersOfKind[kind](Math.max(this.lanes, 1) * sizeOf(shape));
      this.client.download(this.handle, this.fetched);
    }
    return this.fetched;
  }
}

/** A run's numbers on the device. */
class LaneTensor implements DeviceTensor {
  stack: Stack;
  lane: number;
  private isDisposed = false;

  constructor(stack: Stack, lane: number) {
    this.stack = stack;
    this.lane = lane;
    stack.users++;
  }

  move(stack: Stack, lane: number): void {
    stack.users++;
    this.stack.release();
    this.stack = stack;
    this.lane = lane;
  }

  dispose(): void {
    if (!this.isDisposed) this.stack.release();
    this.isDisposed = true;
  }
}

function laneOf({ tensor }: Resident): LaneTensor {
  if (!(tensor instanceof LaneTensor)) throw new Error('a tensor of another device was given to XLA');
  return tensor;
}

/** State that sessions share. */
interface Shared {
  readonly client: XlaClient;
  readonly compile: (text: string) => Executable;
  readonly traffic: Traffic;
  readonly onNote: (line: string) => void;
  /** Runs that fit the device's memory at once. */
  mostLanes: number;
}

export interface XlaOptions {
  readonly client: XlaClient;
  /** Compiles a program, or finds it compiled. */
  readonly compile: (text: string) => Executable;
  readonly eager: Engine;
  /** Is told, once each, what a user should learn. */
  readonly onNote?: (line: string) => void;
}

export function xlaEngine({ client, compile, eager, onNote = () => {} }: XlaOptions): Engine {
  const shared: Shared = { client, compile, traffic: newTraffic(), onNote, mostLanes: Number.POSITIVE_INFINITY };
  /** By their content: runs whose tables are alike share one. */
  const uploaded = new Map<string, Stack>();
  return {
    session: (graph, staying = new Map()) => new XlaSession(graph, staying, shared),
    traffic: shared.traffic,
    gathers: true,
    scans: false,
    eager,
    memory: {
      upload({ shape, array }) {
        const kind = kindOfNumbers(array);
        const key = contentKey(array, shape);
        const handle = () => guarded(() => client.upload(array, { shape, kind }));
        const stack =
          uploaded.get(key) ?? new Stack(client, { handle: handle(), lanes: 0, onFreed: () => uploaded.delete(key) });
        uploaded.set(key, stack);
        return { shape, kind, tensor: new LaneTensor(stack, 0) };
      },
      download: (resident, into) => into.set(numbersOf(resident)),
    },
  };
}

function contentKey(array: Numbers, shape: readonly number[]): string {
  return createHash('sha256')
    .update(`${kindOfNumbers(array)} ${shape}`)
    .update(array)
    .digest('hex');
}

/** The numbers of one run. */
function numbersOf(value: Shaped | Resident): Numbers {
  if ('array' in value) return value.array;
  const { stack, lane } = laneOf(value);
  const size = sizeOf(value.shape);
  return stack.numbers(value).subarray(lane * size, (lane + 1) * size);
}

/** @throws ProviderError with what can be done, for errors of the plugin */
function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PjrtError)) throw error;
    throw new ProviderError(runFailure(error), { cause: error });
  }
}

/** Which lanes there are, and which one each call has. */
interface Layout {
  readonly lanes: number;
  readonly of: readonly number[];
}

const alone: Layout = { lanes: 0, of: [0] };

class XlaSession implements Session {
  private readonly graph: Graph;
  private readonly staying: Staying;
  /** Inputs whose rows are gathered: one for all runs where it is the same, otherwise one in each lane. */
  private readonly tables: readonly string[];
  private readonly shared: Shared;
  private readonly executables = new Map<string, Executable>();
  /** Those that have run. */
  private readonly tried = new Set<Executable>();
  private readonly results: ReturnType<typeof resultLayout>;
  /** For the numbers of all lanes on their way to the device. */
  private readonly scratch = new Scratch();

  constructor(graph: Graph, staying: Staying, shared: Shared) {
    this.graph = graph;
    this.staying = staying;
    this.shared = shared;
    this.results = resultLayout(graph, { staying });
    const gathered = graph.nodes.flatMap(({ operation, inputs }) => (operation.type === 'Gather' ? [inputs[0]] : []));
    this.tables = graph.inputs.map(({ name }) => name).filter((name) => gathered.includes(name));
  }

  run(calls: readonly Call[]): Stayed[] {
    return guarded(() => this.inLanes(calls));
  }

  /** As many at once as fit the memory. */
  private inLanes(calls: readonly Call[]): Stayed[] {
    const { shared } = this;
    if (calls.length > shared.mostLanes)
      return [...this.inLanes(calls.slice(0, shared.mostLanes)), ...this.inLanes(calls.slice(shared.mostLanes))];
    const layout = this.layoutOf(calls);
    try {
      return this.execute(calls, layout);
    } catch (error) {
      if (!(error instanceof PjrtError && error.isOutOfMemory) || layout.lanes < 2) throw error;
      shared.mostLanes = Math.ceil(Math.min(calls.length, layout.lanes) / 2);
      shared.onNote(
        `${layout.lanes} runs at once do not fit the memory of ${shared.client.deviceKind}; they go on in groups of ${shared.mostLanes}`,
      );
      return this.inLanes(calls);
    }
  }

  /** The lanes that the runs have had, or new ones. */
  private layoutOf(calls: readonly Call[]): Layout {
    const homes = calls.map(({ inputs }) => {
      for (const [name, value] of inputs)
        if (!('array' in value) && !this.tables.includes(name) && laneOf(value).stack.lanes > 0) return laneOf(value);
      return null;
    });
    const lanes = homes[0]?.stack.lanes ?? 0;
    const of = homes.map((home) => (home?.stack.lanes === lanes ? home.lane : -1));
    const isKept = lanes > 0 && lanes <= this.shared.mostLanes && !of.includes(-1) && new Set(of).size === of.length;
    if (isKept) return { lanes, of };
    return calls.length === 1 ? alone : { lanes: calls.length, of: calls.map((_, index) => index) };
  }

  private execute(calls: readonly Call[], layout: Layout): Stayed[] {
    const { client, traffic } = this.shared;
    traffic.runs++;
    /** Buffers that no stack has. */
    const ours = new Set<Handle>();
    try {
      const sharedTables = new Set(this.tables.filter((name) => isShared(calls, name)));
      const executable = this.executable(layout, sharedTables);
      const hasRun = this.tried.has(executable);
      const retained: number[] = [];
      const replaced = new Set(this.staying.values());
      const inputs = this.graph.inputs.map((input, place) => {
        const values = calls.map((call) => named(call.inputs, input.name));
        const stack = sharedTables.has(input.name) ? stackOf(values[0]) : this.stacked(values, { input, layout });
        const handle = stack?.handle ?? this.uploaded(values, { input, layout });
        if (stack === null) ours.add(handle);
        const isSpent =
          stack === null || (stack.users === calls.length && calls.every((call) => call.spent?.has(input.name)));
        // The first run tells whether there is memory; if not, smaller groups go on from the same inputs.
        if (replaced.has(input.name) && !(isSpent && hasRun)) retained.push(place);
        return handle;
      });
      const made = client.execute(executable, inputs, { retained });
      for (const handle of made) ours.add(handle);
      this.read(made, { calls, layout });
      this.tried.add(executable);
      return this.stayed(made, { calls, layout, ours });
    } finally {
      for (const handle of ours) client.free(handle);
    }
  }

  private executable({ lanes }: Layout, tables: ReadonlySet<string>): Executable {
    const key = lanes === 0 ? '' : [lanes, ...tables].join();
    const executable =
      this.executables.get(key) ??
      this.shared.compile(stablehlo(this.graph, { lanes, shared: tables, staying: this.staying }));
    this.executables.set(key, executable);
    return executable;
  }

  /** The stack on the device for an input, put together there if need be; null for numbers of this process. */
  private stacked(values: readonly (Shaped | Resident)[], to: { input: GraphValue; layout: Layout }): Stack | null {
    const { layout, input } = to;
    const tensors = values.flatMap((value) => ('array' in value ? [] : [laneOf(value)]));
    if (tensors.length < values.length) return null;
    const [{ stack }] = tensors;
    const isThere = tensors.every((tensor, index) => tensor.stack === stack && tensor.lane === layout.of[index]);
    if (isThere && stack.lanes === layout.lanes) return stack;
    const handle = this.uploaded(values, { input, layout });
    const stacked = new Stack(this.shared.client, { handle, lanes: layout.lanes });
    for (const [index, tensor] of tensors.entries()) tensor.move(stacked, layout.of[index]);
    return stacked;
  }

  private uploaded(values: readonly (Shaped | Resident)[], to: { input: GraphValue; layout: Layout }): Handle {
    const { lanes, of } = to.layout;
    const { name, shape, kind } = to.input;
    const { client, traffic } = this.shared;
    const size = sizeOf(shape);
    const all = lanes === 0 ? numbersOf(values[0]) : this.room(name, kind, lanes * size);
    if (lanes > 0) for (const [index, value] of values.entries()) all.set(numbersOf(value), of[index] * size);
    countIn(traffic, all);
    return client.upload(all, { shape: lanes === 0 ? shape : [lanes, ...shape], kind });
  }

  /** Tables are large, and are put together once. */
  private room(name: string, kind: Kind, length: number): Numbers {
    return this.tables.includes(name) ? new numbersOfKind[kind](length) : this.scratch.array(name, kind, length);
  }

  private read(made: readonly Handle[], { calls, layout }: { calls: readonly Call[]; layout: Layout }): void {
    const { client, traffic } = this.shared;
    const { single, packed } = this.results;
    const fetch = (handle: Handle, outputs: readonly GraphValue[]) => {
      const width = outputs.reduce((sum, { shape }) => sum + sizeOf(shape), 0);
      const all = new numbersOfKind[outputs[0].kind](Math.max(layout.lanes, 1) * width);
      client.download(handle, all);
      traffic.bytesOut += all.byteLength;
      for (const [index, call] of calls.entries()) {
        let start = layout.of[index] * width;
        for (const { name, shape } of outputs) {
          const output = call.outputs.get(name);
          const end = start + sizeOf(shape);
          if (output !== undefined) output.array = all.subarray(start, end);
          start = end;
        }
      }
    };
    if (packed.length > 0) fetch(made[single.length], packed);
    for (const [place, output] of single.entries()) if (!this.staying.has(output.name)) fetch(made[place], [output]);
  }

  /** Stacks of what stays, which are ours no more. */
  private stayed(
    made: readonly Handle[],
    { calls, layout, ours }: { calls: readonly Call[]; layout: Layout; ours: Set<Handle> },
  ): Stayed[] {
    const stayed = calls.map(() => new Map<string, DeviceTensor>());
    for (const [place, output] of this.results.single.entries()) {
      if (!this.staying.has(output.name)) continue;
      const stack = new Stack(this.shared.client, { handle: made[place], lanes: layout.lanes });
      ours.delete(made[place]);
      for (const [index, names] of stayed.entries()) names.set(output.name, new LaneTensor(stack, layout.of[index]));
    }
    return stayed;
  }

  dispose(): void {
    for (const executable of this.executables.values()) this.shared.client.unload(executable);
    this.executables.clear();
  }
}

/** Null for numbers of this process. */
function stackOf(value: Shaped | Resident): Stack | null {
  return 'array' in value ? null : laneOf(value).stack;
}

/** Whether all calls have one table, without lanes. */
function isShared(calls: readonly Call[], name: string): boolean {
  const stack = stackOf(named(calls[0].inputs, name));
  return stack?.lanes === 0 && calls.every((call) => stackOf(named(call.inputs, name)) === stack);
}
