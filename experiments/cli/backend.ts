import { Command } from '@commander-js/extra-typings';
import { testedTensorflow } from '../backends/tested-tensorflow.ts';
import { printJson, type Terminal } from './terminal.ts';

export function backendCommand(terminal: Terminal): Command {
  return new Command('backend')
    .description('Build the native library of the tensorflow backend.')
    .addCommand(backendInstallCommand(terminal));
}

const tested = { dimensions: 64, iterations: 5 };

function backendInstallCommand({ stdout, stderr }: Terminal): Command {
  return new Command('install')
    .description('Compile the addon of the tensorflow backend against a Python package of TensorFlow, and test it.')
    .option(
      '--from-python <python>',
      'an interpreter that has TensorFlow (default: one is made, with CUDA where there is an NVIDIA GPU)',
    )
    .option('--json', 'print what was built as JSON')
    .addHelpText(
      'after',
      `
Needs a C++ compiler; without --from-python also Python 3.9 to 3.13 and a package registry. The addon is put into
~/.cache/earshot/tensorflow (EARSHOT_TENSORFLOW names another folder), where every Earshot of this user finds it, and stays
linked to the TensorFlow it was built against. Delete that folder to be rid of it. TensorFlow ${testedTensorflow} was tried.

If nvidia-smi or /dev/nvidia0 shows an NVIDIA GPU, TensorFlow is fetched with CUDA's libraries. This was never run on a GPU.`,
    )
    .action(async ({ fromPython, json }) => {
      const [{ selectBackend }, { buildTensorflowAddon }, { compareBackends }] = await Promise.all([
        import('../../src/tensor/backend.ts'),
        import('../backends/build-tensorflow-addon.ts'),
        import('../backends/compare-backends.ts'),
      ]);
      const onNote = (line: string) => stderr.write(`earshot: ${line}\n`);
      const built = await buildTensorflowAddon({ python: fromPython ?? null, onNote });
      const { device } = await selectBackend('tensorflow');
      onNote(`testing it: ${tested.iterations} iterations of an agent on wasm and on ${device}`);
      const difference = await compareBackends(['wasm', 'tensorflow'], tested);
      if (json) return printJson({ stdout }, { ...built, device, difference });
      stdout.write(`Built: ${built.addon}\nLinked to: ${built.library}\nDevice: ${device}\n`);
      stdout.write(
        `After ${difference.iterations} iterations the weights are at most ${difference.weights.toExponential(1)} from those on wasm (the largest is ${difference.largestWeight.toFixed(2)}).\n`,
      );
    });
}
