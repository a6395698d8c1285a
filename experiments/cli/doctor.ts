import { availableParallelism } from 'node:os';
import { Argument, Command } from '@commander-js/extra-typings';
import { markdownTable } from 'markdown-table';
import { type BackendName, backendNames } from '../../src/tensor/backend-names.ts';
import type { Timing } from '../backends/time-backend.ts';
import { wrapped } from '../report/narrow-table.ts';
import { doctorGpuCommand } from './doctor-gpu.ts';
import { positiveInteger, positiveIntegers } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

export function doctorCommand(terminal: Terminal) {
  const { stdout } = terminal;
  return new Command('doctor')
    .description(
      'Print which tensor backend is used and why, time a real training step of one run and of several on each backend that works, and print how many runs a program should train.',
    )
    .addCommand(doctorGpuCommand(terminal))
    .addArgument(new Argument('[backend...]', 'only these are timed').choices(backendNames).default(backendNames))
    .option('--dimensions <count>', 'width of the states', positiveInteger, 256)
    .option('--batched-runs <list>', 'how many runs are timed in one program', positiveIntegers, [1, 4, 16])
    .option('--json', 'print as JSON')
    .action(async (names, options) => {
      const { batchedRuns: sizes, dimensions } = options;
      const [{ selectBackend }, { nvidiaGpu }, { timeBackend }, { notesTo }] = await Promise.all([
        import('../../src/tensor/backend.ts'),
        import('../../src/tensor/nvidia-gpu.ts'),
        import('../backends/time-backend.ts'),
        import('./progress.ts'),
      ]);
      const onNote = notesTo(terminal);
      const chosen = await selectBackend('auto');
      const rows: (Timing & { backend: BackendName })[] = [];
      for (const name of names) {
        onNote(`timing ${name}`);
        rows.push({ backend: name, ...(await timeBackend(name, { dimensions, sizes })) });
      }
      const node = process.versions.node;
      const gpu = nvidiaGpu();
      const cores = availableParallelism();
      const advice = rows.flatMap((row) =>
        row.problem === null ? [{ backend: row.backend, ...fastest(row, cores) }] : [],
      );
      if (options.json) return printJson({ stdout }, { node, cores, gpu, chosen, backends: rows, advice });
      const describe = ({ backend, iterationMs, device, problem }: (typeof rows)[number]): string[] => [
        backend,
        ...sizes.map((size) => {
          const took = iterationMs[size];
          return took === undefined ? '–' : perSecond(size, took).toPrecision(2);
        }),
        problem === null ? (device ?? '') : `cannot be used: ${firstWords(problem)}`,
      ];
      const whole = rows.flatMap(({ backend, problem }) => (problem === null ? [] : [`${backend}: ${problem}`]));
      stdout.write(`Node ${node}, ${cores} processor cores. Chosen by auto: ${chosen.name} (${chosen.device}).\n\n`);
      if (gpu !== null && !chosen.device.includes('GPU'))
        stdout.write(
          `${wrapped(`This machine has a GPU (${gpu}). auto leaves it alone: it pays for hundreds of runs at once. \`earshot doctor gpu\` times it.`)}\n\n`,
        );
      stdout.write(`Iterations a second, all runs of a program together:\n\n`);
      const title = ['backend', ...sizes.map((size) => (size === 1 ? '1 run' : `${size} runs`)), 'device, or why not'];
      stdout.write(`${markdownTable([title, ...rows.map(describe)])}\n\n`);
      for (const text of whole) stdout.write(`${wrapped(text)}\n\n`);
      for (const { backend, words, runsASecond } of advice)
        stdout.write(
          `${wrapped(`${backend}: many runs go fastest with ${words}, about ${runsASecond.toPrecision(2)} a second.`)}\n`,
        );
      stdout.write(
        `\n${wrapped(`An iteration is 200 environment steps with 16 policy and 15 discriminator updates at ${dimensions} dimensions. Several processes are reckoned as that many times one.`)}\n`,
      );
    });
}

function perSecond(members: number, tookMs: number): number {
  return (1000 * members) / tookMs;
}

/**
 * How many runs a program should train, with a program for each core: the fewest that are about as fast as any. A GPU is shared, whatever
 * the processes, and TensorFlow's threads take all cores for a large program.
 */
function fastest(
  { backend, iterationMs, device }: Timing & { backend: BackendName },
  cores: number,
): { words: string; runsASecond: number } {
  const ways = Object.entries(iterationMs).map(([members, tookMs]) => {
    const size = Number(members);
    const processes = device?.includes('GPU') || (backend === 'tensorflow' && size > 1) ? 1 : cores;
    const runsASecond = perSecond(size, tookMs) * processes;
    return { words: `--batched-runs ${size} --jobs ${processes}`, runsASecond };
  });
  const most = Math.max(...ways.map(({ runsASecond }) => runsASecond));
  return ways.find(({ runsASecond }) => runsASecond >= aboutAsFast * most)!;
}

/** Of the highest rate: timings of one machine differ by this much from minute to minute. */
const aboutAsFast = 0.9;

/** Keeps the table within the width of a summary. */
const widestReason = 40;

function firstWords(text: string): string {
  const [line] = text.split('\n');
  return line.length <= widestReason ? line : `${line.slice(0, line.lastIndexOf(' ', widestReason))} …`;
}
