import { Pjrt } from '../../src/tensor/xla/pjrt.ts';

/*
 * What goes wrong between Node and a plugin unless it is taken care of. Argument: the plugin. It ends by itself, for a plugin whose
 * threads run must not be unloaded then.
 */

const program = (body: string, parameter = '') => `module @trap {
func.func public @main(%x: tensor<2xf32>${parameter}) -> (tensor<2xf32>) {
${body}
  return %y : tensor<2xf32>
}
}
`;
const adding = '  %y = stablehlo.add %x, %x : tensor<2xf32>';
const gc = () => globalThis.gc?.();

const client = await Pjrt.open(process.argv[2], { isGpu: false });
const upload = (numbers: number[]) =>
  client.upload(Float32Array.from(numbers), { shape: [numbers.length], kind: 'float32' });
const download = (buffer: bigint) => {
  const into = new Float32Array(2);
  client.download(buffer, into);
  return [...into];
};
const messageOf = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    return error instanceof Error ? error.message.split('\n')[0] : String(error);
  }
};

// Arrays of two numbers lie on V8's heap, which moves when it is collected.
const twice = client.compile(program(adding));
const moved: number[][] = [];
for (let round = 0; round < 200; round++) {
  const input = upload([round, 1]);
  gc();
  const [output] = client.execute(twice, [input], { retained: [] });
  gc();
  moved.push(download(output));
  for (const buffer of [input, output]) client.free(buffer);
}

// The library's object is nobody's; another client of it still calls.
gc();
const again = await Pjrt.open(process.argv[2], { isGpu: false });
const second = again.compile(program(adding));

// The plugin keeps an input that is freed while a program reads it.
const input = upload([5, 6]);
const [output] = client.execute(twice, [input], { retained: [] });
client.free(input);
const freedEarly = download(output);

// An input that is written over is gone, unless this call keeps it.
const over = client.compile(program(adding, ' {tf.aliasing_output = 0 : i32}'));
const state = upload([1, 2]);
const [kept] = client.execute(over, [state], { retained: [0] });
const stays = download(state);
const [replaced] = client.execute(over, [state], { retained: [] });
const isGone = messageOf(() => download(state));

// The compiler takes a deep stack.
const deep = ['  %t0 = stablehlo.add %x, %x : tensor<2xf32>'];
for (let step = 1; step < 4000; step++)
  deep.push(`  %t${step} = stablehlo.${step % 2 ? 'tanh' : 'sine'} %t${step - 1} : tensor<2xf32>`);
const long = client.compile(program([...deep, '  %y = stablehlo.tanh %t3999 : tensor<2xf32>'].join('\n')));

console.log(
  JSON.stringify({
    moved: moved.every(([one, other], round) => one === 2 * round && other === 2),
    second: second.outputs,
    freedEarly,
    stays,
    replaced: download(replaced),
    kept: download(kept),
    isGone,
    // MLIR's reader looks one byte beyond the text.
    nonsense: messageOf(() => client.compile('nonsense')),
    long: long.outputs,
    loaded: client.load(client.serialized(twice)).outputs,
    damaged: messageOf(() => client.load(Buffer.from('damaged'))),
  }),
);
