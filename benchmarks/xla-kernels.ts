import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gpuFlags } from '../src/tensor/xla/plugin.ts';

/*
 * Compiles StableHLO for an NVIDIA H100 on a machine without a GPU, and counts what an iteration would launch there:
 *
 *   npx tsx benchmarks/xla-runs.ts --runs 1,32,128 --iterations 1 --programs programs
 *   npx tsx benchmarks/xla-kernels.ts --plugin xla_cuda_plugin.so programs/32-runs-*.mlir
 *
 * The plugin is that of the wheel jax-cuda13-pjrt, unpacked with those of nvidia-cuda-nvcc and nvidia-nvvm into one folder:
 * `earshot backend install xla --device cuda13` leaves them in ~/.cache/earshot/xla/cuda13, although it finds no device.
 */

const h100 = `gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84978434048
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 patch: 0 }
device_description_str: "NVIDIA H100 80GB HBM3"
`;

const { values: args, positionals: files } = parseArgs({
  options: { plugin: { type: 'string' } },
  allowPositionals: true,
});
if (args.plugin === undefined || files.length === 0)
  throw new Error('give --plugin with the path of xla_cuda_plugin.so, and files of StableHLO');
const dump = mkdtempSync(join(tmpdir(), 'earshot-kernels-'));
const data = join(args.plugin, '../../../nvidia/cu13');
process.env.XLA_FLAGS = gpuFlags(`${process.env.XLA_FLAGS ?? ''} --xla_dump_to=${dump}`.trim(), data);
process.env.TF_CPP_MIN_LOG_LEVEL ??= '3';

const { loadLibrary } = await import('../src/tensor/xla/native.ts');
const native = await loadLibrary(args.plugin);
const api = native.api();
/** Places of functions in the API, which Earshot itself does not call. */
const places = { Error_Message: 1, Plugin_Initialize: 3, TopologyDescription_Create: 82, Compile: 89 } as const;
const views: NodeJS.ArrayBufferView[] = [];

function pointer(array: NodeJS.ArrayBufferView): bigint {
  views.push(array);
  return native.address(array);
}

function struct(fields: readonly (bigint | number)[]): BigUint64Array {
  const all = new BigUint64Array(new ArrayBuffer(16 + 8 * fields.length));
  all.set([BigInt(all.byteLength), 0n, ...fields.map(BigInt)]);
  return all;
}

function call(name: keyof typeof places, fields: readonly (bigint | number)[]): BigUint64Array {
  const args = struct(fields);
  const error = native.callable(api.pointer(40 + 8 * places[name]))(args);
  if (error === 0n) return args;
  const message = call('Error_Message', [error, 0, 0]);
  throw new Error(`PJRT_${name}: ${native.text(message[3], Number(message[4]))}`);
}

/** PJRT_NamedValue of a text: name, its length, type, value, its length. */
function setting(name: string, value: string): bigint[] {
  const [key, text] = [Buffer.from(name), Buffer.from(value)];
  return [...struct([pointer(key), key.length, 0, pointer(text), text.length])];
}

call('Plugin_Initialize', []);
const settings = BigUint64Array.from([...setting('target_config', h100), ...setting('topology', '1x1x1')]);
const topology = call('TopologyDescription_Create', [pointer(Buffer.from('\0')), 0, pointer(settings), 2, 0])[2 + 4];
const [format, options] = [Buffer.from('mlir'), Buffer.from([0x1a, 4, 0x20, 1, 0x28, 1])];
const totals = new Map<string, number>();
for (const file of files) {
  for (const name of readdirSync(dump)) rmSync(join(dump, name));
  const code = Buffer.concat([readFileSync(file), Buffer.from([0])]);
  const program = struct([pointer(code), code.length - 1, pointer(format), format.length]);
  const started = performance.now();
  call('Compile', [topology, pointer(program), pointer(options), options.length, 0, 0]);
  const tookMs = performance.now() - started;
  const counts = new Map<string, number>();
  for (const name of readdirSync(dump).filter((each) => each.endsWith('.thunk_sequence_after_thunk_passes.txt')))
    for (const [, kind] of readFileSync(join(dump, name), 'utf8').matchAll(/^ *\d+: k(\w+)/gm)) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      totals.set(kind, (totals.get(kind) ?? 0) + 1);
    }
  const described = [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
  console.log(`${basename(file)}: ${described}; compiled in ${(tookMs / 1000).toFixed(1)} s`);
}
console.log(`all: ${[...totals].map(([kind, count]) => `${count} ${kind}`).join(', ')}`);
rmSync(dump, { recursive: true });
process.exit(0);
