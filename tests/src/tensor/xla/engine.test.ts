import { expect, it } from 'vitest';
import type { Call, Engine, Output, Resident, Shaped } from '../../../../src/tensor/graph/engine.ts';
import type { Graph, Numbers } from '../../../../src/tensor/graph/graph.ts';
import { type XlaClient, xlaEngine } from '../../../../src/tensor/xla/engine.ts';
import { PjrtError } from '../../../../src/tensor/xla/pjrt.ts';

/*
 * Lanes on a device that is an object of JavaScript. Its only program moves a state of two numbers by a rate, and sums a table.
 */

const graph: Graph = {
  // The table is what rows are gathered from.
  nodes: [
    {
      operation: { type: 'Gather', axis: 0 },
      inputs: ['table', 'places'],
      outputs: [{ name: 'row', shape: [1], kind: 'float32' }],
    },
  ],
  constants: [{ name: 'places', shape: [1], kind: 'int32', array: Int32Array.of(0) }],
  inputs: [
    { name: 'state', shape: [2], kind: 'float32' },
    { name: 'rate', shape: [1], kind: 'float32' },
    { name: 'table', shape: [3], kind: 'float32' },
  ],
  // Of inputs, for the device does not read the text: what it computes is below.
  outputs: [
    { name: 'state', shape: [2], kind: 'float32' },
    { name: 'rate', shape: [1], kind: 'float32' },
  ],
};

function device({ mostLanes = 100, isBroken = false }: { mostLanes?: number; isBroken?: boolean } = {}) {
  const buffers = new Map<bigint, Numbers>();
  const uploads: number[] = [];
  const retained: (readonly number[])[] = [];
  const programs: string[] = [];
  let next = 1n;
  const store = (array: Numbers) => {
    buffers.set(next, array.slice());
    return next++;
  };
  const read = (handle: bigint): Numbers => {
    const array = buffers.get(handle);
    if (array === undefined) throw new Error(`buffer ${handle} was freed`);
    return array;
  };
  const client: XlaClient = {
    deviceKind: 'a device',
    upload(array) {
      uploads.push(array.length);
      return store(array);
    },
    execute(executable, inputs, options) {
      const [state, rate, table] = inputs.map(read);
      const lanes = rate.length;
      if (lanes > mostLanes) {
        // What may be written over is gone.
        if (!options.retained.includes(0)) buffers.set(inputs[0], new Float32Array(state.length).fill(Number.NaN));
        throw new PjrtError('RESOURCE_EXHAUSTED: no room', { code: 8 });
      }
      expect(programs[Number(executable.handle)]).toContain(`%rate: tensor<${lanes > 1 ? `${lanes}x` : ''}`);
      retained.push(options.retained);
      const sums = Array.from(rate, (_, lane) => {
        const start = table.length === 3 ? 0 : 3 * lane;
        return table[start] + table[start + 1] + table[start + 2];
      });
      return [store(Float32Array.from(state, (own, place) => own + rate[place >> 1])), store(Float32Array.from(sums))];
    },
    download(buffer, into) {
      if (isBroken) throw new PjrtError('INTERNAL: the device is gone', { code: 13 });
      into.set(read(buffer));
    },
    free(buffer) {
      if (!buffers.delete(buffer)) throw new Error(`buffer ${buffer} was freed twice`);
    },
    unload: () => {},
  };
  const notes: string[] = [];
  const none: Engine = {
    session: () => {
      throw new Error('nothing is eager here');
    },
    memory: null,
    traffic: { runs: 0, bytesIn: 0, bytesOut: 0, largestIn: 0 },
    gathers: false,
    scans: false,
  };
  const engine = xlaEngine({
    client,
    eager: none,
    compile: (text) => ({ handle: BigInt(programs.push(text) - 1), outputs: 2 }),
    onNote: (line) => notes.push(line),
  });
  const session = engine.session(graph, new Map([['state', 'state']]));
  if (engine.memory === null) throw new Error('the engine has memory');
  const run = (calls: readonly Call[]) => session.run(calls);
  return { memory: engine.memory, run, buffers, uploads, retained, programs, notes };
}

type Device = ReturnType<typeof device>;

/** Runs whose states are on the device from the first step on. */
function runsOn({ memory, run }: Device, tables: readonly Float32Array[]) {
  const states: (Shaped | Resident)[] = tables.map((_, index) => ({
    shape: [2],
    array: Float32Array.of(index, 10 * index),
  }));
  const seen = tables.map((): Output => ({ shape: [1], kind: 'float32', array: null }));
  const uploaded = tables.map((array) => memory.upload({ shape: [3], array }));
  const step = (those: readonly number[]) => {
    const calls = those.map(
      (index): Call => ({
        inputs: new Map<string, Shaped | Resident>([
          ['state', states[index]],
          ['rate', { shape: [1], array: Float32Array.of(index + 1) }],
          ['table', uploaded[index]],
        ]),
        outputs: new Map([['rate', seen[index]]]),
        spent: new Set(['state']),
      }),
    );
    for (const [place, stayed] of run(calls).entries()) {
      const before = states[those[place]];
      const tensor = stayed.get('state');
      if (tensor === undefined) throw new Error('no state stayed');
      states[those[place]] = { shape: [2], kind: 'float32', tensor };
      if (!('array' in before)) before.tensor.dispose();
    }
  };
  const stateOf = (index: number) => {
    const state = states[index];
    const into = new Float32Array(2);
    if ('array' in state) throw new Error('the state is still here');
    memory.download(state, into);
    return [...into];
  };
  const end = () => {
    for (const state of states) if (!('array' in state)) state.tensor.dispose();
    for (const { tensor } of uploaded) tensor.dispose();
  };
  return { step, stateOf, seen, end };
}

const table = Float32Array.of(1, 2, 3);

it('keeps the states of all runs stacked on the device, with one table, and lets them be written over', () => {
  const there = device();
  const { step, stateOf, seen, end } = runsOn(there, [table, table.slice(), table]);
  expect(there.uploads).toEqual([3]);
  step([0, 1, 2]);
  step([0, 1, 2]);
  expect([0, 1, 2].map(stateOf)).toEqual([
    [2, 2],
    [5, 14],
    [8, 26],
  ]);
  expect(seen.map(({ array }) => array?.[0])).toEqual([6, 6, 6]);
  // The states once, and the rates of three runs at each step.
  expect(there.uploads).toEqual([3, 6, 3, 3]);
  // The first run may find too little memory, and the second writes over the states.
  expect(there.retained).toEqual([[0], []]);
  expect(there.programs).toHaveLength(1);
  end();
  expect(there.buffers.size).toBe(0);
});

it('leaves each run its lane, and the program as it is, when another one is gone', () => {
  const there = device();
  const { step, stateOf, end } = runsOn(there, [table, table, table]);
  step([0, 1, 2]);
  step([0, 2]);
  step([2]);
  expect([0, 1, 2].map(stateOf)).toEqual([
    [2, 2],
    [3, 12],
    [11, 29],
  ]);
  expect(there.programs).toHaveLength(1);
  // Whose state is still read by nobody else may be written over; the lane of the second run was still its own.
  expect(there.retained).toEqual([[0], [0], [0]]);
  end();
  expect(there.buffers.size).toBe(0);
});

it('stacks tables unless all runs share one', () => {
  const own = device();
  const separate = runsOn(
    own,
    [1, 2, 3].map((factor) => table.map((value) => factor * value)),
  );
  separate.step([0, 1, 2]);
  separate.step([0, 1, 2]);
  expect(separate.seen.map(({ array }) => array?.[0])).toEqual([6, 12, 18]);
  expect(own.programs[0]).toContain('%table: tensor<3x3xf32>');
  // Put together once.
  expect(own.uploads.filter((length) => length === 9)).toHaveLength(1);
  separate.end();
  expect(own.buffers.size).toBe(0);
  const mixed = device();
  const some = runsOn(mixed, [table, table.map((value) => 2 * value), table]);
  some.step([0, 1, 2]);
  expect(some.seen.map(({ array }) => array?.[0])).toEqual([6, 12, 6]);
  expect(mixed.programs).toHaveLength(1);
  some.end();
  expect(mixed.buffers.size).toBe(0);
});

it('goes on in groups that fit the memory, and says so once', () => {
  const there = device({ mostLanes: 2 });
  const { step, stateOf, end } = runsOn(there, [table, table, table, table]);
  step([0]);
  step([1, 2]);
  step([3]);
  step([0, 1, 2, 3]);
  expect([0, 1, 2, 3].map(stateOf)).toEqual([
    [2, 2],
    [5, 14],
    [8, 26],
    [11, 38],
  ]);
  expect(there.notes).toEqual(['4 runs at once do not fit the memory of a device; they go on in groups of 2']);
  end();
  expect(there.buffers.size).toBe(0);
  const own = device({ mostLanes: 2 });
  const separate = runsOn(
    own,
    [1, 2, 3, 4].map((factor) => table.map((value) => factor * value)),
  );
  separate.step([0, 1, 2, 3]);
  separate.step([0, 1, 2, 3]);
  expect(separate.seen.map(({ array }) => array?.[0])).toEqual([6, 12, 18, 24]);
  separate.end();
  expect(own.buffers.size).toBe(0);
  const none = device({ mostLanes: 0 });
  expect(() => runsOn(none, [table]).step([0])).toThrow(/the device has too little memory for one run/);
});

it('frees what a program made when its results cannot be read', () => {
  const there = device({ isBroken: true });
  const { step, end } = runsOn(there, [table, table]);
  expect(() => step([0, 1])).toThrow(/the device failed during a step \(INTERNAL: the device is gone\)/);
  expect([...there.buffers.values()]).toEqual([table]);
  end();
  expect(there.buffers.size).toBe(0);
});
