import { Argument, Command, Option } from '@commander-js/extra-typings';
import { InputError } from '../../src/errors.ts';
import { testedTensorflow } from '../backends/tested-tensorflow.ts';
import { printJson, type Terminal } from './terminal.ts';

export function backendCommand(terminal: Terminal): Command {
  return new Command('backend')
    .description('Install what the backends tensorflow and xla need.')
    .addCommand(backendInstallCommand(terminal));
}

const tested = { dimensions: 64, iterations: 5 };
const xlaDevices = ['cuda13', 'cuda12', 'rocm7', 'oneapi', 'tpu', 'metal', 'cpu'] as const;

function backendInstallCommand({ stdout, stderr }: Terminal) {
  return new Command('install')
    .description(
      'Install a backend and test it. tensorflow: compile the addon against a Python package of TensorFlow. xla: download the plugin of a device.',
    )
    .addArgument(new Argument('[backend]', 'which one').choices(['tensorflow', 'xla']).default('tensorflow'))
    .option(
      '--from-python <python>',
      'tensorflow: an interpreter that has TensorFlow (default: one is made, with CUDA where there is an NVIDIA GPU)',
    )
    .addOption(new Option('--device <device>', 'xla: what to train on').choices(xlaDevices))
    .option('--plugin <file>', 'xla: a PJRT plugin that is there, such as that of an installed JAX')
    .option('--json', 'print what was installed as JSON')
    .addHelpText(
      'after',
      `
xla: the wheels come from PyPI and are checked by their SHA-256; no Python is needed. They are put into ~/.cache/earshot/xla
(EARSHOT_XLA names another folder), CUDA's are 2.3 GB or more. rocm7 and oneapi need the maker's runtime beside. Only cpu was run.

tensorflow: needs a C++ compiler; without --from-python also Python 3.9 to 3.13 and a package registry. The addon is put into
~/.cache/earshot/tensorflow (EARSHOT_TENSORFLOW names another folder), where every Earshot of this user finds it, and stays
linked to the TensorFlow it was built against. Delete that folder to be rid of it. TensorFlow ${testedTensorflow} was tried.

If nvidia-smi or /dev/nvidia0 shows an NVIDIA GPU, TensorFlow is fetched with CUDA's libraries. This was never run on a GPU.`,
    )
    .action(async (backend, { fromPython, device, plugin, json }) => {
      const onNote = (line: string) => stderr.write(`earshot: ${line}\n`);
      const built = await (backend === 'xla' ? xla({ device, plugin, onNote }) : tensorflow({ fromPython, onNote }));
      const { selectBackend } = await import('../../src/tensor/backend.ts');
      const { compareBackends } = await import('../backends/compare-backends.ts');
      const { device: chosen } = await selectBackend(backend);
      onNote(`testing it: ${tested.iterations} iterations of an agent on wasm and on ${chosen}`);
      const difference = await compareBackends(['wasm', backend], tested);
      if (json) return printJson({ stdout }, { ...built.facts, device: chosen, difference });
      stdout.write(`${built.lines.join('\n')}\nDevice: ${chosen}\n`);
      stdout.write(
        `After ${difference.iterations} iterations the weights are at most ${difference.weights.toExponential(1)} from those on wasm (the largest is ${difference.largestWeight.toFixed(2)}).\n`,
      );
    });
}

interface Installed {
  readonly facts: object;
  readonly lines: readonly string[];
}
type OnNote = (line: string) => void;

async function tensorflow(options: { fromPython: string | undefined; onNote: OnNote }): Promise<Installed> {
  const { buildTensorflowAddon } = await import('../backends/build-tensorflow-addon.ts');
  const built = await buildTensorflowAddon({ python: options.fromPython ?? null, onNote: options.onNote });
  return { facts: built, lines: [`Built: ${built.addon}`, `Linked to: ${built.library}`] };
}

async function xla(options: {
  device: string | undefined;
  plugin: string | undefined;
  onNote: OnNote;
}): Promise<Installed> {
  const { device, plugin, onNote } = options;
  if ((device === undefined) === (plugin === undefined))
    throw new InputError(
      `${device === undefined ? 'neither --device nor --plugin was' : 'both --device and --plugin were'} given; name one: --device ${xlaDevices.join(', ')}, or --plugin with a file`,
    );
  const { installXla } = await import('../backends/install-xla.ts');
  const report = await installXla({ source: plugin === undefined ? { device: device ?? '' } : { plugin }, onNote });
  return { facts: report, lines: [`Installed: ${report.plugin}, PJRT API ${report.apiVersion}`] };
}
