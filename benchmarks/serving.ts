/*
 * `earshot serve` beside FastAPI, uvicorn and onnxruntime with the same ONNX file: single-row decisions a second on one core
 * and their 99th percentile, in turns.
 *
 *   node --import tsx benchmarks/serving.ts --bundle policy [--rounds 5] [--seconds 5] [--connections 1,16]
 *
 * It needs Linux with two cores (servers are pinned to the first, the load to the second), Python and a package registry.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { markdownTable } from 'markdown-table';
import { bundleFiles, readManifest } from '../checkpoints/policy/manifest.ts';
import { interopPython } from '../tests/interop/python.ts';
import { freePort } from '../tests/interop/serving.ts';

const { values } = parseArgs({
  options: {
    bundle: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '1,16' },
  },
});
const { bundle } = values;
if (bundle === undefined) throw new Error('give --bundle, a folder that `earshot export` made');
const home = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'earshot-serving-'));
const running: ChildProcess[] = [];

interface Measured {
  /** Decisions a second. */
  readonly rate: number;
  /** Decisions a second of the server's processor time: what one core does when nothing else wants it. */
  readonly perCpuSecond: number;
  readonly p50: number;
  readonly p99: number;
}

interface Started {
  readonly url: string;
  readonly child: ChildProcess;
}

/** Starts a server on the first core, whose last word is its port, and waits until it is ready. */
async function start(words: readonly string[], port: number): Promise<Started> {
  const child = spawn('taskset', ['-c', '0', ...words, String(port)], { stdio: ['ignore', 'ignore', 'inherit'] });
  running.push(child);
  const url = `http://127.0.0.1:${port}`;
  for (;;) {
    const ready = await fetch(`${url}/v2/health/ready`).catch(() => null);
    if (ready?.ok === true) return { url, child };
    if (child.exitCode !== null) throw new Error(`${words.join(' ')} ended`);
    await delay(200);
  }
}

async function load(
  { url, child }: Started,
  options: { body: string; connections: number; seconds: number },
): Promise<Measured> {
  const words = ['-c', '1', process.execPath, '--import', 'tsx', join(home, 'benchmarks/http-load.ts')];
  const { body, connections, seconds } = options;
  const all = [...words, `${url}/v2/models/policy/infer`, body, String(connections), String(seconds)];
  const before = cpuSeconds(child.pid!);
  const { stdout } = await promisify(execFile)('taskset', all, { cwd: home });
  const { count, ...found }: { count: number; rate: number; p50: number; p99: number } = JSON.parse(stdout);
  return { ...found, perCpuSecond: count / (cpuSeconds(child.pid!) - before) };
}

/** Processor time of all threads of a process so far. Linux counts it in hundredths of a second. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

const names = {
  perCpuSecond: "decisions a second of the server's processor time",
  rate: 'decisions a second',
  p50: 'median, ms',
  p99: '99th percentile, ms',
};

async function compareRates(): Promise<void> {
  const manifest = await readManifest(readFileSync(join(bundle!, bundleFiles.manifest), 'utf8'));
  const { columns } = manifest.state;
  const data = Array.from({ length: columns }, (_, index) => Math.round(Math.sin(index) * 1e6) / 1e6);
  const body = join(folder, 'body.json');
  writeFileSync(body, JSON.stringify({ inputs: [{ name: 'state', shape: [1, columns], datatype: 'FP32', data }] }));
  const python = interopPython(join(import.meta.dirname, 'requirements-serving.txt'));
  const script = join(import.meta.dirname, 'fastapi-server.py');
  const program = join(home, 'experiments/cli/earshot.mjs');
  const serve = [process.execPath, program, 'serve', `policy=${bundle}`, '--log-level', 'error', '--port'];
  const servers = {
    earshot: await start(serve, await freePort()),
    fastapi: await start([python, script, join(bundle!, bundleFiles.onnx)], await freePort()),
  };
  const rows: string[][] = [];
  for (const connections of values.connections.split(',').map(Number)) {
    const found: Record<keyof typeof servers, Measured[]> = { earshot: [], fastapi: [] };
    // One round to warm up, for both.
    for (let round = -1; round < Number(values.rounds); round++)
      for (const name of ['earshot', 'fastapi'] as const) {
        const seconds = round < 0 ? 8 : Number(values.seconds);
        const measured = await load(servers[name], { body, connections, seconds });
        if (round >= 0) found[name].push(measured);
      }
    for (const measure of ['perCpuSecond', 'rate', 'p50', 'p99'] as const) {
      const ratios = found.earshot.map((own, round) => (own[measure] / found.fastapi[round][measure]).toFixed(2));
      const middle = (own: readonly Measured[]) => median(own.map((each) => each[measure])).toPrecision(3);
      rows.push([String(connections), names[measure], middle(found.earshot), middle(found.fastapi), ratios.join(', ')]);
    }
  }
  for (const { child } of Object.values(servers)) child.kill('SIGTERM');
  const head = ['connections', 'measure', 'earshot', 'FastAPI', 'earshot over FastAPI, each round'];
  console.log(`States of ${columns} numbers; medians of ${values.rounds} rounds, and the ratio of each round.\n`);
  console.log(markdownTable([head, ...rows]));
}

try {
  console.log(
    `Load average at the beginning: ${loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')}`,
  );
  await compareRates();
  console.log(
    `Load average at the end: ${loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')}`,
  );
} finally {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
