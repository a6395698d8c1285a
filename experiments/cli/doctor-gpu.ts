import { availableParallelism } from 'node:os';
import { Command, Option } from '@commander-js/extra-typings';
import { markdownTable } from 'markdown-table';
import { InputError } from '../../src/errors.ts';
import type { Placements } from '../backends/gpu-placements.ts';
import type { Timing } from '../backends/time-backend.ts';
import { wrapped } from '../report/narrow-table.ts';
import { positiveIntegers } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

export function doctorGpuCommand(terminal: Terminal) {
  const { stdout } = terminal;
  return new Command('gpu')
    .description(
      'Print which GPU the webgpu backend uses, which work falls back to the processor, and from how many runs in one program on it is faster than the processor.',
    )
    .option('--dimensions <list>', 'widths of the states', positiveIntegers, [256, 1024])
    .option('--batched-runs <list>', 'how many runs are timed in one program', positiveIntegers, [1, 8, 32, 128])
    .option('--json', 'print as JSON')
    .addOption(new Option('--only-iterate', 'iterate and print nothing: for the log of the runtime').hideHelp())
    .action(async ({ dimensions: widths, batchedRuns: sizes, json, onlyIterate }) => {
      const { selectBackend } = await import('../../src/tensor/backend.ts');
      const { device } = await selectBackend('webgpu');
      if (onlyIterate === true) return (await import('../backends/time-training-step.ts')).iterateSmallAgent();
      const { adapterInUse } = await import('../../src/tensor/gpu-adapter.ts');
      const adapter = adapterInUse();
      const { freeTensorBytes } = await import('../../src/tensor/free-memory.ts');
      const freeBytes = freeTensorBytes({ name: 'webgpu', device, skipped: [] });
      const { gpuPlacements } = await import('../backends/gpu-placements.ts');
      const placements = await gpuPlacements();
      if (!json) {
        stdout.write(`${wrapped(`webgpu runs on ${device}${driversOf(adapter)}.`)}\n`);
        stdout.write(`${wrapped(`Free memory: ${(freeBytes / 2 ** 30).toFixed(1)} GiB. ${fallback(placements)}`)}\n\n`);
      }
      const { notesTo } = await import('./progress.ts');
      const widthsTimed = await timedWidths(widths, { sizes, onNote: notesTo(terminal) });
      if (json) return printJson({ stdout }, { device, adapter, freeBytes, placements, widths: widthsTimed });
      stdout.write('Iterations a second, all runs of a program together:\n\n');
      const rows = widthsTimed.flatMap(({ dimensions, gpu, processor }) =>
        sizes.map((size) => [String(dimensions), String(size), ...[gpu, processor].map((own) => rateOf(own, size))]),
      );
      stdout.write(`${markdownTable([['numbers', 'runs', 'webgpu', 'onnx, one core'], ...rows])}\n\n`);
      for (const own of widthsTimed) stdout.write(`${wrapped(adviceOn(own, availableParallelism()))}\n`);
    });
}

/** A width of states, timed on both. */
interface TimedWidth {
  readonly dimensions: number;
  readonly gpu: Timing;
  readonly processor: Timing;
}

async function timedWidths(
  widths: readonly number[],
  { sizes, onNote }: { sizes: readonly number[]; onNote: (line: string) => void },
): Promise<TimedWidth[]> {
  const { timeBackend } = await import('../backends/time-backend.ts');
  const timed: TimedWidth[] = [];
  for (const dimensions of widths) {
    onNote(`timing webgpu at ${dimensions} numbers a state`);
    const gpu = await timeBackend('webgpu', { dimensions, sizes });
    if (gpu.problem !== null && Object.keys(gpu.iterationMs).length === 0) throw new InputError(gpu.problem);
    onNote(`timing onnx at ${dimensions} numbers a state`);
    const processor = await timeBackend('onnx', { dimensions, sizes });
    if (processor.problem !== null) throw new InputError(processor.problem);
    timed.push({ dimensions, gpu, processor });
  }
  return timed;
}

function driversOf({ drivers }: { drivers: readonly string[] }): string {
  return drivers.length === 0 ? '' : ` (Vulkan drivers loaded: ${drivers.join(', ')})`;
}

function fallback({ nodes, onProcessor }: Placements): string {
  const kinds = Object.entries(onProcessor).map(([kind, count]) => `${count} ${kind}`);
  return kinds.length === 0
    ? `All ${nodes} nodes of a training step's graphs run there.`
    : `Of ${nodes} nodes of a training step's graphs, these fall back to the processor: ${kinds.join(', ')}.`;
}

function perSecond({ iterationMs }: Timing, size: number): number | null {
  const tookMs = iterationMs[size];
  return tookMs === undefined ? null : (1000 * size) / tookMs;
}

function rateOf(timing: Timing, size: number): string {
  return perSecond(timing, size)?.toPrecision(2) ?? '–';
}

/** The GPU against a program on every core. */
function adviceOn({ dimensions, gpu, processor }: TimedWidth, cores: number): string {
  const sizes = Object.keys(gpu.iterationMs).map(Number);
  const ofProcessor =
    Math.max(0, ...Object.keys(processor.iterationMs).map((size) => perSecond(processor, Number(size)) ?? 0)) * cores;
  const first = sizes.find((size) => (perSecond(gpu, size) ?? 0) > ofProcessor);
  const advice =
    first === undefined
      ? `use the processor (--set backend=onnx --jobs ${cores})`
      : `use --set backend=webgpu from --batched-runs ${first} on, and the processor for fewer runs`;
  return `At ${dimensions} numbers a state, ${advice}: onnx on ${cores} cores reaches about ${ofProcessor.toPrecision(2)} iterations a second.${gpu.problem === null ? '' : ` More runs failed on webgpu: ${gpu.problem}`}`;
}
