import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { compareBackends } from '../../experiments/backends/compare-backends.ts';
import { testedTensorflow } from '../../experiments/backends/tested-tensorflow.ts';
import { algorithms } from '../../trainers/stop-agent/config.ts';
import { ensureCompiler } from './compiler.ts';
import { interopPython } from './python.ts';
import { passTrainerTests } from './trainer-tests.ts';

/*
 * The tensorflow backend on the processor's TensorFlow, built by `earshot backend install` in a cache folder. No GPU is
 * needed, and none is tested.
 */

const project = join(import.meta.dirname, '../..');
const cache = process.env.EARSHOT_INTEROP_CACHE ?? join(homedir(), '.cache/earshot/interop');
process.env.EARSHOT_TENSORFLOW = join(cache, `tensorflow-${testedTensorflow}`);

async function node(...words: string[]): Promise<string> {
  const env = { ...process.env, EARSHOT_TEST_BACKEND: 'tensorflow', NO_COLOR: '1' };
  const done = promisify(execFile)(process.execPath, words, { cwd: project, env, maxBuffer: 1e8 });
  const { stdout } = await done.catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`node ${words.join(' ')} failed:\n${error.stdout.slice(-6000)}\n${error.stderr.slice(-2000)}`);
  });
  return stdout;
}

const earshot = (...words: string[]) => node('experiments/cli/earshot.mjs', ...words);

let installed: { device: string; library: string; difference: { weights: number } };
beforeAll(async () => {
  await ensureCompiler();
  installed = JSON.parse(await earshot('backend', 'install', '--json'));
});

describe('earshot backend install', () => {
  it('builds an addon that trains as wasm does', () => {
    expect(installed.device).toBe(`TensorFlow ${testedTensorflow} on the processor`);
    expect(installed.difference.weights).toBeLessThan(1e-6);
  });

  it('builds against the TensorFlow of a Python that the user names', async () => {
    const python = join(installed.library, '../../../../bin/python');
    const again = JSON.parse(await earshot('backend', 'install', '--from-python', python, '--json'));
    expect(again.library).toBe(installed.library);
  });

  it('says what to install where the named Python has no TensorFlow, or is none', async () => {
    await expect(earshot('backend', 'install', '--from-python', interopPython())).rejects.toThrow(
      /python has no TensorFlow; install it with `\S+python -m pip install/,
    );
    await expect(earshot('backend', 'install', '--from-python', 'no-such-python')).rejects.toThrow(
      'no-such-python is no Python that can be run',
    );
  });
});

describe('the tensorflow backend', () => {
  it('is what doctor chooses and times', async () => {
    const { chosen, backends } = JSON.parse(await earshot('doctor', 'tensorflow', '--dimensions', '32', '--json'));
    expect(chosen.name).toBe('tensorflow');
    expect(backends).toMatchObject([{ backend: 'tensorflow', problem: null, device: installed.device }]);
  });

  it('passes every test of tensors and trainers', async () => {
    expect(await passTrainerTests('tensorflow')).toBeGreaterThan(200);
  });

  // Those that learn from labelled threads, which these shapes have none of, are compared by the tests of the trainers above.
  it.each(algorithms.filter((name) => !['exact-policy-gradient', 'settled', 'dqn'].includes(name)))(
    'ends 100 iterations within 1e-5 of wasm: %s',
    async (algorithm) => {
      const { weights } = await compareBackends(['wasm', 'tensorflow'], {
        dimensions: 256,
        iterations: 100,
        algorithm,
      });
      expect(weights).toBeLessThan(1e-5);
    },
  );
});
