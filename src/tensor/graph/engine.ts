import type { Graph, Kind, Numbers } from './graph.ts';

/*
 * What the recording backend needs of a runtime.
 */

/** A tensor's numbers with their shape. */
export interface Shaped {
  readonly shape: readonly number[];
  readonly array: Numbers;
}

/** A runtime's handle of numbers in its device's memory. */
export interface DeviceTensor {
  dispose(): void;
}

/** Numbers in the device's memory: graphs read them, and `DeviceMemory` brings them back. */
export interface Resident {
  readonly shape: readonly number[];
  readonly kind: Kind;
  readonly tensor: DeviceTensor;
}

/** An output of a graph. */
export interface Output {
  readonly shape: readonly number[];
  readonly kind: Kind;
  /** To be filled, and no input's. Where it is null, the engine sets one. */
  array: Numbers | null;
}

/** Inputs and outputs of one run of a graph, by name. */
export interface Call {
  readonly inputs: ReadonlyMap<string, Shaped | Resident>;
  /** Those that stay on the device are not among them. */
  readonly outputs: ReadonlyMap<string, Output>;
  /** Inputs that nobody reads after the call, so that what replaces them may be written over them. */
  readonly spent?: ReadonlySet<string>;
}

/** Outputs that stayed on the device, by name; whoever made the call disposes them. */
export type Stayed = ReadonlyMap<string, DeviceTensor>;

/** A graph that is ready to run. */
export interface Session {
  /** One call, or those of several runs: as one program where the engine gathers. */
  run(calls: readonly Call[]): Stayed[];
  dispose(): void;
}

/** Outputs of a graph that stay in the device's memory, each with the input that it replaces or null. */
export type Staying = ReadonlyMap<string, string | null>;

/** Moves numbers between a device's memory and that of this process. Sessions go on while both are used: never two runs at once. */
export interface DeviceMemory {
  upload(numbers: Shaped): Resident;
  download(resident: Resident, into: Numbers): void;
}

/** Bytes into and out of graphs since the start. */
export interface Traffic {
  runs: number;
  /** From and to the memory of this process. */
  bytesIn: number;
  bytesOut: number;
  /** Bytes of the largest input since `largestIn` was set to 0. */
  largestIn: number;
}

/** A runtime for graphs. */
export interface Engine {
  session(graph: Graph, staying?: Staying): Session;
  /** Null where the device is the processor. */
  readonly memory: DeviceMemory | null;
  readonly traffic: Traffic;
  /** Whether the steps of several runs can be one program. */
  readonly gathers: boolean;
  /** Whether graphs may repeat nodes (`Scan`). */
  readonly scans: boolean;
  /** Runs what is no compiled step and differs from call to call, where compiling takes long. */
  readonly eager?: Engine;
}

export function newTraffic(): Traffic {
  return { runs: 0, bytesIn: 0, bytesOut: 0, largestIn: 0 };
}

/** Counts an input. */
export function countIn(traffic: Traffic, { byteLength }: Numbers): void {
  traffic.bytesIn += byteLength;
  traffic.largestIn = Math.max(traffic.largestIn, byteLength);
}
