import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { makeFolder, writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { nvidiaGpu } from '../../src/tensor/nvidia-gpu.ts';
import { type BuiltAddon, builtAddonFile, tensorflowFolder, tensorflowPackage } from '../../src/tensor/tensorflow.ts';
import { testedTensorflow } from './tested-tensorflow.ts';

/*
 * Compiles the addon of tfjs-node (two C++ files of Node-API over TensorFlow's C interface) against the library and the
 * headers inside TensorFlow's Python package. One compiler call instead of node-gyp: node-gyp wants the headers of all of
 * Node, which it downloads, and a folder of TensorFlow laid out as the install script would have done it.
 *
 * The addon refers to the library where it lies (a run path), by the names that the Python package gives it: a copy or
 * a link elsewhere would not find CUDA's libraries, which stand in neighbouring Python packages.
 */

/** Node-API's version that the addon is written for: `napi_versions` in its package. */
const nodeApiVersion = 8;

const libraries = ['libtensorflow_cc.so.2', 'libtensorflow_framework.so.2'] as const;

/**
 * Compiles the addon and records its path. An earlier build is replaced.
 * @param options.python an interpreter with TensorFlow; null downloads one, with CUDA for an NVIDIA GPU
 * @throws InputError with the missing package
 */
export async function buildTensorflowAddon(options: {
  python: string | null;
  onNote: (line: string) => void;
}): Promise<BuiltAddon> {
  const { python, onNote } = options;
  if (process.platform !== 'linux')
    throw new InputError(
      `the addon is built on Linux only, and this is ${process.platform}; try \`npm rebuild @tensorflow/tfjs-node-gpu --ignore-scripts=false\`, which downloads one`,
    );
  const sources = tensorflowPackage();
  if (sources === null)
    throw new InputError(
      'the sources of the addon are in @tensorflow/tfjs-node-gpu, which is not installed; install it with `npm install --no-save @tensorflow/tfjs-node-gpu@4.22.0`',
    );
  const compiler = process.env.CXX ?? 'c++';
  await run([compiler, '--version'], 'a C++ compiler is needed (on Debian: apt-get install g++); CXX may name it');
  const library = await libraryOf(python ?? (await fetchedTensorflow(onNote)));
  for (const name of [...libraries, 'include/tensorflow/c/c_api.h', 'include/tensorflow/c/eager/c_api.h'])
    if (!existsSync(join(library, name)))
      throw new InputError(`${library} has no ${name}; use the wheel of TensorFlow ${testedTensorflow} for Linux`);

  onNote(`compiling the addon of ${sources.name} ${sources.version} against ${library}`);
  const addon = join(tensorflowFolder(), 'tfjs_binding.node');
  makeFolder(dirname(addon));
  rmSync(builtAddonFile(), { force: true });
  const nodeHeaders = join(dirname(createRequire(import.meta.url).resolve('node-api-headers')), 'include');
  await run(
    [
      ...[compiler, '-std=c++17', '-O2', '-fPIC', '-shared', `-DNAPI_VERSION=${nodeApiVersion}`],
      ...[`-I${nodeHeaders}`, `-I${join(library, 'include')}`],
      ...['tfjs_backend.cc', 'tfjs_binding.cc'].map((name) => join(sources.folder, 'binding', name)),
      ...['-o', addon, `-L${library}`, ...libraries.map((name) => `-l:${name}`), `-Wl,-rpath,${library}`],
    ],
    `the addon does not compile against this TensorFlow; use ${testedTensorflow}`,
  );
  const built = { addon, packageVersion: sources.version, library };
  writeFileAtomically(builtAddonFile(), `${JSON.stringify(built, null, 2)}\n`);
  return built;
}

/** The folder of a Python's TensorFlow, which is found without an import, because its dependencies may be missing. */
async function libraryOf(python: string): Promise<string> {
  const script =
    'import importlib.util as u; s = u.find_spec("tensorflow"); exit("no module named tensorflow") if s is None else print(s.submodule_search_locations[0])';
  const advice = `${python} has no TensorFlow; install it with \`${python} -m pip install tensorflow-cpu==${testedTensorflow}\`, for an NVIDIA GPU 'tensorflow[and-cuda]==${testedTensorflow}'`;
  await run(
    [python, '--version'],
    `${python} is no Python that can be run; give the path of one, such as .venv/bin/python`,
  );
  return (await run([python, '-c', script], advice)).trim();
}

/** Downloads a Python with TensorFlow into the cache folder: for the processor alone, or with CUDA's libraries. */
async function fetchedTensorflow(onNote: (line: string) => void): Promise<string> {
  const gpu = nvidiaGpu();
  const folder = join(tensorflowFolder(), `python-${testedTensorflow}${gpu === null ? '' : '-cuda'}`);
  const python = join(folder, 'bin', 'python');
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return python;
  onNote(
    gpu === null
      ? `fetching TensorFlow ${testedTensorflow} for the processor into ${folder} (250 MB, 1.2 GB unpacked)`
      : `fetching TensorFlow ${testedTensorflow} with CUDA for ${gpu} into ${folder} (some gigabytes)`,
  );
  rmSync(folder, { recursive: true, force: true });
  await run(
    ['python3', '-m', 'venv', folder],
    'Python 3.9 to 3.13 with venv is needed (on Debian: apt-get install python3-venv), or --from-python with one that has TensorFlow',
  );
  const pip = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-cache-dir'];
  const wheel = `${gpu === null ? 'tensorflow-cpu' : 'tensorflow[and-cuda]'}==${testedTensorflow}`;
  // CUDA's libraries are dependencies; those of the processor's wheel are for Python alone.
  await run(
    [...pip, ...(gpu === null ? ['--no-deps'] : []), wheel],
    `${wheel} cannot be installed; it needs Python 3.9 to 3.13 and a package registry`,
  );
  writeFileAtomically(ready, '');
  return python;
}

/** @throws InputError with `advice` and the last lines that the program wrote */
async function run([program, ...words]: readonly string[], advice: string): Promise<string> {
  try {
    return (await promisify(execFile)(program, words, { maxBuffer: 1e8 })).stdout;
  } catch (error) {
    const { stderr } = z.object({ stderr: z.string() }).catch({ stderr: '' }).parse(error);
    const said = stderr.trim() || (error instanceof Error ? error.message : String(error));
    throw new InputError(`${advice}.\n${said.split('\n').slice(-8).join('\n')}`);
  }
}
