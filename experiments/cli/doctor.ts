import { Argument, Command } from 'commander';
import { markdownTable } from 'markdown-table';
import { type BackendName, backendNames, selectBackend } from '../../src/tensor/backend.ts';
import { timeTrainingStep } from '../run/time-training-step.ts';
import { positiveInteger } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export function doctorCommand({ stdout }: Terminal): Command {
  return new Command('doctor')
    .description('Say which tensor backend is used and why, and time a real training step on each that works.')
    .addArgument(new Argument('[backend...]', 'only these are timed').choices(backendNames).default(backendNames))
    .option('--dimensions <count>', 'width of the states', positiveInteger, 256)
    .option('--json', 'print as JSON')
    .action(async (names: BackendName[], options: { dimensions: number; json?: boolean }) => {
      const chosen = await selectBackend('auto');
      const rows: (Timing & { backend: BackendName })[] = [];
      for (const name of names) rows.push({ backend: name, ...(await timeBackend(name, options.dimensions)) });
      const node = process.versions.node;
      if (options.json) {
        stdout.write(`${JSON.stringify({ node, chosen, backends: rows }, null, 2)}\n`);
        return;
      }
      const describe = ({ backend, iterationMs, device, problem }: (typeof rows)[number]): string[] =>
        iterationMs === null
          ? [backend, '–', `cannot be used: ${firstWords(problem ?? 'no reason is known')}`]
          : [backend, iterationMs.toFixed(0), device ?? ''];
      const whole = rows.flatMap(({ backend, problem }) => (problem === null ? [] : [`${backend}: ${problem}`]));
      stdout.write(`Node ${node}. Chosen by auto: ${chosen.name} (${chosen.device}).\n\n`);
      stdout.write(
        `${markdownTable([['backend', 'ms an iteration', 'device, or why not'], ...rows.map(describe)])}\n\n`,
      );
      for (const text of whole) stdout.write(`${wrapped(text)}\n\n`);
      stdout.write(
        `${wrapped(`An iteration is 200 environment steps with 16 policy and 15 discriminator updates at ${options.dimensions} dimensions.`)}\n`,
      );
    });
}

interface Timing {
  readonly device: string | null;
  readonly iterationMs: number | null;
  readonly problem: string | null;
}

async function timeBackend(name: BackendName, dimensions: number): Promise<Timing> {
  try {
    const { device } = await selectBackend(name);
    return { device, iterationMs: await timeTrainingStep(dimensions), problem: null };
  } catch (error) {
    return { device: null, iterationMs: null, problem: error instanceof Error ? error.message : String(error) };
  }
}

const widest = 100;
/** Keeps the table within that width. */
const widestReason = 40;

function firstWords(text: string): string {
  const [line] = text.split('\n');
  return line.length <= widestReason ? line : `${line.slice(0, line.lastIndexOf(' ', widestReason))} …`;
}

/** Lines of at most `widest` columns, broken between words. */
function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines[lines.length - 1];
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= widest) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}
