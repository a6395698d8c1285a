import { availableParallelism } from 'node:os';
import { Argument, Command } from '@commander-js/extra-typings';
import { type BackendName, backendNames } from '../../src/tensor/backend-names.ts';
import type { PluginReport } from '../../src/tensor/xla/plugin.ts';
import type { Timing } from '../backends/time-training-step.ts';
import { terminalTable } from '../report/table.ts';
import { wrapped } from '../report/terminal-text.ts';
import { positiveInteger } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

export function doctorCommand(terminal: Terminal) {
  const { stdout } = terminal;
  return new Command('doctor')
    .description(
      'Print which tensor backend is used and why, and time a real training step on each backend that works.',
    )
    .addArgument(new Argument('[backend...]', 'only these are timed').choices(backendNames).default(backendNames))
    .option('--dimensions <count>', 'width of the states', positiveInteger, 256)
    .option('--json', 'print as JSON')
    .action(async (names, options) => {
      const { dimensions } = options;
      const { selectBackend } = await import('../../src/tensor/backend.ts');
      const { nvidiaGpu } = await import('../../src/tensor/nvidia-gpu.ts');
      const { timeBackend } = await import('../backends/time-training-step.ts');
      const { notesTo } = await import('./progress.ts');
      const onNote = notesTo(terminal);
      const chosen = await selectBackend('auto');
      const xla = names.includes('xla') ? await pluginReport() : null;
      const rows: (Timing & { backend: BackendName })[] = [];
      for (const name of names) {
        onNote(`timing ${name}`);
        rows.push({ backend: name, ...(await timeBackend(name, { dimensions })) });
      }
      const node = process.versions.node;
      const gpu = nvidiaGpu();
      const cores = availableParallelism();
      if (options.json) return printJson({ stdout }, { node, cores, gpu, chosen, xla, backends: rows });
      const describe = ({ backend, iterationMs, device, problem }: (typeof rows)[number]): string[] => [
        backend,
        iterationMs === null ? '–' : (1000 / iterationMs).toPrecision(2),
        problem === null ? (device ?? '') : `cannot be used: ${problem.split('\n')[0]}`,
      ];
      const whole = rows.flatMap(({ backend, problem }) => (problem === null ? [] : [`${backend}: ${problem}`]));
      stdout.write(`Node ${node}, ${cores} processor cores. Chosen by auto: ${chosen.name} (${chosen.device}).\n\n`);
      if (xla !== null) stdout.write(`${wrapped(`xla: ${aboutPlugin(xla)}`)}\n\n`);
      if (gpu !== null && !chosen.device.includes('GPU'))
        stdout.write(
          `${wrapped(`This machine has a GPU (${gpu}). auto uses it when a plugin of XLA is installed (\`earshot backend install xla\`).`)}\n\n`,
        );
      const why = 'device, or why not';
      const heading = ['backend', 'iterations per second', why];
      stdout.write(`${terminalTable({ heading, rows: rows.map(describe), texts: [why] })}\n\n`);
      for (const text of whole) stdout.write(`${wrapped(text)}\n\n`);
      stdout.write(
        `${wrapped(`An iteration is 200 environment steps with 16 policy and 15 discriminator updates at ${dimensions} dimensions. On the processor, each process of --jobs trains a run at this rate.`)}\n`,
      );
    });
}

/** Null without a working plugin: the row of the backend says why. */
async function pluginReport(): Promise<PluginReport | null> {
  const { installedPlugin, reportOn } = await import('../../src/tensor/xla/plugin.ts');
  try {
    const installed = installedPlugin();
    return installed === null ? null : await reportOn(installed);
  } catch {
    return null;
  }
}

function aboutPlugin({ plugin, device, platform, version, apiVersion, memory, compiledMs }: PluginReport): string {
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`;
  const limit = memory?.limitBytes ?? null;
  const space =
    memory === null || limit === null ? '' : `, ${gib(limit)} of memory, ${gib(memory.usedBytes)} of it used`;
  return `${device} (${platform}, ${version}${space}) by ${plugin}, PJRT API ${apiVersion}. A small program was compiled in ${Math.ceil(compiledMs)} ms and is right.`;
}
