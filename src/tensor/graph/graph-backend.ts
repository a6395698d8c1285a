import * as tf from '@tensorflow/tfjs-core';
import type { Engine, Resident, Session, Shaped, Staying, Traffic } from './engine.ts';
import { type Graph, graphKey, type Kind, type Numbers } from './graph.ts';
import { isKnown, Recorder, type Value } from './recorder.ts';

/*
 * A tfjs backend whose kernels (kernels.ts) append nodes to a graph instead of computing. The graph runs when one of its
 * tensors is read, or when it has become long; `compiled` (compiled.ts) keeps graphs and runs them without the kernels.
 */

/** Longer graphs run although nobody reads them. */
const mostNodes = 1000;
/** Sessions kept, each with the memory of its largest run; the one that was used longest ago goes first. */
const mostSessions = 32;
/** Of arrays that wait to be used again, together. */
const mostFreeBytes = 256 * 2 ** 20;

export class GraphBackend extends tf.KernelBackend {
  private readonly values: tf.DataStorage<Value>;
  private readonly sessions = new Map<string, Session>();
  private readonly engine: Engine;
  private recorder = new Recorder();
  /** Arrays of `emptyNumbers` that nobody else has seen, and by their lengths those that wait to be used again. */
  private readonly recycled = new WeakSet<Numbers>();
  private readonly free = new Map<number, Float32Array[]>();
  private freeBytes = 0;
  /** Whether a function is being traced, so that nothing can be read. */
  isTracing = false;

  constructor(engine: Engine) {
    super();
    this.engine = engine;
    this.values = new tf.DataStorage(this, tf.engine());
  }

  /** Sessions kept. */
  get sessionCount(): number {
    return this.sessions.size;
  }

  /** Bytes into and out of its graphs. */
  get traffic(): Traffic {
    return this.engine.traffic;
  }

  /** Whether results may stay where they are made. */
  get hasDeviceMemory(): boolean {
    return this.engine.memory !== null;
  }

  /** See `Engine`. */
  get gathers(): boolean {
    return this.engine.gathers;
  }

  /** Whether a traced function may repeat nodes. */
  get scans(): boolean {
    return this.isTracing && this.engine.scans;
  }

  valueBehind({ dataId }: tf.TensorInfo): Value {
    return this.values.get(dataId);
  }

  /** The tensor that a kernel returns for a value. */
  tensorOf(value: Value): tf.TensorInfo {
    const dataId = {};
    this.values.set(dataId, value);
    return { dataId, shape: [...value.shape], dtype: value.kind };
  }

  /** Another tensor over equal numbers, for kernels that change nothing. */
  shared({ dataId, shape, dtype }: tf.TensorInfo): tf.TensorInfo {
    this.incRef(dataId);
    return { dataId, shape, dtype };
  }

  /** An array as a value of its own. */
  made(array: Numbers | null, { shape, kind }: { shape: readonly number[]; kind: Kind }): Value {
    return { shape, kind, recorder: this.recorder, array, resident: null, wasFed: false, references: 1 };
  }

  /** A result that stayed on the device as a value of its own. */
  stayed(resident: Resident): Value {
    return { ...this.made(null, resident), resident };
  }

  /** The array of a value whose graph has run, fetched from the device where it stayed there. */
  arrayOf(value: Value): Numbers {
    const { array, resident } = value;
    if (array !== null) return array;
    if (resident === null || this.engine.memory === null)
      throw new Error('a tensor was asked for whose graph was never run');
    const numbers = this.emptyArray(value);
    this.engine.memory.download(resident, numbers);
    value.array = numbers;
    return numbers;
  }

  /** The input of a graph for a value. On a device with memory of its own, one that is given again stays there from then on. */
  fed(value: Value): Shaped | Resident {
    if (value.wasFed) this.place(value);
    value.wasFed = true;
    return value.resident ?? { shape: value.shape, array: this.arrayOf(value) };
  }

  /** Copies a value into the device's memory, if that is another. */
  place(value: Value): void {
    const { memory } = this.engine;
    if (memory !== null) value.resident ??= memory.upload({ shape: value.shape, array: this.arrayOf(value) });
  }

  /** Appends a node to the graph in hand; see `Recorder.append`. */
  append(
    operation: Parameters<Recorder['append']>[0],
    inputs: readonly tf.TensorInfo[],
    output: Parameters<Recorder['append']>[2],
  ): tf.TensorInfo {
    return this.tensorOf(this.recorderWithRoom().append(operation, this.operandsOf(inputs), output));
  }

  /** Appends a node with several outputs. */
  appendSeveral(
    operation: Parameters<Recorder['append']>[0],
    inputs: readonly tf.TensorInfo[],
    outputs: Parameters<Recorder['appendSeveral']>[2],
  ): tf.TensorInfo[] {
    const values = this.recorderWithRoom().appendSeveral(operation, this.operandsOf(inputs), outputs);
    return values.map((value) => this.tensorOf(value));
  }

  /** Appends a node that repeats others; see `Recorder.scan`. */
  scan(
    inputs: readonly tf.TensorInfo[],
    states: number,
    record: (inputs: readonly tf.TensorInfo[]) => readonly tf.TensorInfo[],
  ): tf.TensorInfo[] {
    const values = this.recorder.scan(this.operandsOf(inputs), states, (given) =>
      this.operandsOf(record(given.map((value) => this.tensorOf(value)))),
    );
    return values.map((value) => this.tensorOf(value));
  }

  private operandsOf(inputs: readonly tf.TensorInfo[]): Value[] {
    return inputs.map((input) => this.valueBehind(input));
  }

  private recorderWithRoom(): Recorder {
    if (!this.isTracing && this.recorder.length >= mostNodes) this.settle();
    return this.recorder;
  }

  /** Runs what was recorded. */
  settle(): void {
    const { recorder } = this;
    const { eager } = this.engine;
    this.recorder = new Recorder();
    const outputs = recorder.made.filter(({ references }) => references > 0);
    if (outputs.length === 0) return;
    const inputs = recorder.read;
    const session = this.session(recorder.graph({ inputs, outputs }), { engine: eager });
    const arrays = outputs.map((value) => this.emptyArray(value));
    const fed = (value: Value) =>
      eager === undefined ? this.fed(value) : { shape: value.shape, array: this.arrayOf(value) };
    const described = outputs.map(({ shape, kind }, place) => ({ shape, kind, array: arrays[place] }));
    session.run([
      {
        inputs: new Map(inputs.map((value) => [recorder.nameOf(value), fed(value)])),
        outputs: new Map(outputs.map((value, place) => [recorder.nameOf(value), described[place]])),
      },
    ]);
    for (const [place, value] of outputs.entries()) value.array = arrays[place];
  }

  /** For a result. */
  emptyArray({ shape, kind }: Pick<Value, 'shape' | 'kind'>): Numbers {
    const length = tf.util.sizeFromShape([...shape]);
    if (kind === 'float32') return this.emptyNumbers(length);
    return kind === 'int32' ? new Int32Array(length) : new Uint8Array(length);
  }

  /**
   * An array to be filled for a tensor: one that a disposed tensor left, whatever stands in it, or a new one. Arrays lie outside of V8's
   * heap, and V8 collects all of the heap when new ones add up, which they would in an iteration of a training.
   */
  emptyNumbers(length: number): Float32Array {
    const left = this.free.get(length)?.pop();
    if (left !== undefined) {
      this.freeBytes -= left.byteLength;
      return left;
    }
    const numbers = new Float32Array(length);
    this.recycled.add(numbers);
    return numbers;
  }

  /** Never uses the array again. */
  keep(array: Numbers): void {
    this.recycled.delete(array);
  }

  private recycle(value: Value): void {
    const { array, resident } = value;
    // A graph that has yet to run keeps it until it is collected; a traced function is given what lives on.
    if (resident !== null && !this.isTracing && !this.recorder.holds(value)) {
      resident.tensor.dispose();
      value.resident = null;
    }
    if (!(array instanceof Float32Array) || !this.recycled.has(array)) return;
    // While a function is traced, its inputs share the arrays of tensors that live on; and a graph may still be to run.
    if (this.isTracing || this.recorder.holds(value)) return;
    if (this.freeBytes + array.byteLength > mostFreeBytes) return;
    const waiting = this.free.get(array.length) ?? [];
    waiting.push(array);
    this.free.set(array.length, waiting);
    this.freeBytes += array.byteLength;
  }

  /** Records `f` in a separate graph. Nothing in it may be read. */
  traced<T>(f: () => T): { result: T; recorder: Recorder } {
    this.settle();
    const recorder = this.recorder;
    this.isTracing = true;
    try {
      return { result: f(), recorder };
    } finally {
      this.isTracing = false;
      this.recorder = new Recorder();
    }
  }

  /** The session of a graph; kept until others are used more. */
  session(graph: Graph, options: { key?: string; staying?: Staying; engine?: Engine | undefined } = {}): Session {
    const { staying, engine = this.engine } = options;
    const { key: plain = graphKey(graph) } = options;
    // A graph may be that of a step and what runs beside it, on two runtimes.
    const key = engine === this.engine ? plain : `eager,${plain}`;
    const session = this.sessions.get(key) ?? engine.session(graph, staying);
    this.sessions.delete(key);
    this.sessions.set(key, session);
    for (const [oldest, session] of this.sessions) {
      if (this.sessions.size <= mostSessions) break;
      session.dispose();
      this.sessions.delete(oldest);
    }
    return session;
  }

  override async read(dataId: object): Promise<tf.backend_util.TypedArray> {
    return this.readSync(dataId);
  }

  override readSync(dataId: object): Numbers {
    const value = this.values.get(dataId);
    if (!isKnown(value)) {
      if (this.isTracing) throw new Error('a compiled step cannot read a tensor; return it and read the result');
      this.settle();
    }
    const array = this.arrayOf(value);
    // Whoever reads it may keep it.
    this.keep(array);
    return array;
  }

  override write(values: tf.backend_util.BackendValues, shape: number[], dtype: tf.DataType): object {
    const { dataId } = this.tensorOf(this.made(numbersOf(values, dtype), { shape, kind: kindOf(dtype) }));
    return dataId;
  }

  override move(
    dataId: object,
    values: tf.backend_util.BackendValues,
    shape: number[],
    dtype: tf.DataType,
    references: number,
  ): void {
    this.values.set(dataId, { ...this.made(numbersOf(values, dtype), { shape, kind: kindOf(dtype) }), references });
  }

  override disposeData(dataId: object, force = false): boolean {
    if (!this.values.has(dataId)) return true;
    const value = this.values.get(dataId);
    value.references--;
    if (!force && value.references > 0) return false;
    value.references = 0;
    this.values.delete(dataId);
    this.recycle(value);
    return true;
  }

  override numDataIds(): number {
    return this.values.numDataIds();
  }

  override refCount(dataId: object): number {
    return this.values.has(dataId) ? this.values.get(dataId).references : 0;
  }

  override incRef(dataId: object): void {
    this.values.get(dataId).references++;
  }

  override floatPrecision(): 32 {
    return 32;
  }

  override epsilon(): number {
    return 1e-7;
  }

  override memory(): { unreliable: boolean } {
    return { unreliable: false };
  }

  override dispose(): void {
    for (const session of this.sessions.values()) session.dispose();
    this.sessions.clear();
    this.free.clear();
    this.freeBytes = 0;
  }
}

/** @throws Error for types that no graph of ours holds */
export function kindOf(dtype: tf.DataType): Kind {
  if (dtype === 'float32' || dtype === 'int32' || dtype === 'bool') return dtype;
  throw new Error(`graphs hold float32, int32 and bool, not ${dtype}`);
}

function numbersOf(values: tf.backend_util.BackendValues, dtype: tf.DataType): Numbers {
  const arrays = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;
  const Own = arrays[kindOf(dtype)];
  return values instanceof Own ? values : Own.from(Array.from(values, Number));
}
