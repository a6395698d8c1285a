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
      'Print which GPU the webgpu backend uses, which work falls back to the processor, and how fast it is beside the processor.',
    )
    .option('--dimensions <list>', 'widths of the states', positiveIntegers, [256, 1024])
    .option('--json', 'print as JSON')
    .addOption(new Option('--only-iterate', 'iterate and print nothing: for the log of the runtime').hideHelp())
    .action(async ({ dimensions: widths, json, onlyIterate }) => {
      const { selectBackend } = await import('../../src/tensor/backend.ts');
      const { device } = await selectBackend('webgpu');
      if (onlyIterate === true) return (await import('../backends/time-training-step.ts')).iterateSmallAgent();
      const { adapterInUse } = await import('../../src/tensor/gpu-adapter.ts');
      const adapter = adapterInUse();
      const { gpuPlacements } = await import('../backends/gpu-placements.ts');
      const placements = await gpuPlacements();
      if (!json) {
        stdout.write(`${wrapped(`webgpu runs on ${device}${driversOf(adapter)}.`)}\n`);
        stdout.write(`${wrapped(fallback(placements))}\n\n`);
      }
      const { notesTo } = await import('./progress.ts');
      const widthsTimed = await timedWidths(widths, { onNote: notesTo(terminal) });
      if (json) return printJson({ stdout }, { device, adapter, placements, widths: widthsTimed });
      stdout.write('Iterations per second of one run:\n\n');
      const rows = widthsTimed.map(({ dimensions, gpu, processor }) => [
        String(dimensions),
        ...[gpu, processor].map(({ iterationMs }) =>
          iterationMs === null ? '–' : (1000 / iterationMs).toPrecision(2),
        ),
      ]);
      stdout.write(`${markdownTable([['numbers', 'webgpu', 'onnx, one core'], ...rows])}\n`);
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
  { onNote }: { onNote: (line: string) => void },
): Promise<TimedWidth[]> {
  const { timeBackend } = await import('../backends/time-backend.ts');
  const timed: TimedWidth[] = [];
  for (const dimensions of widths) {
    onNote(`timing webgpu at ${dimensions} numbers a state`);
    const gpu = await timeBackend('webgpu', { dimensions });
    if (gpu.problem !== null) throw new InputError(gpu.problem);
    onNote(`timing onnx at ${dimensions} numbers a state`);
    const processor = await timeBackend('onnx', { dimensions });
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
