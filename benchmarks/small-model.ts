/*
 * The recipe small-model on a real model behind a real server (tests/interop/language-model-server.ts installs both). This
 * server knows JSON schemas by a name of its own, so a proxy translates them. Usage:
 *
 *   node --import tsx benchmarks/small-model.ts [--runs runs] [--set path=value …]
 */
import { parseArgs } from 'node:util';
import { runCommandLine } from '../experiments/cli/main.ts';
import { startLanguageModel } from '../tests/interop/language-model-server.ts';
import { countingProxy } from '../tests/interop/schema-proxy.ts';

const { values: options } = parseArgs({
  options: { runs: { type: 'string', default: 'runs' }, set: { type: 'string', multiple: true, default: [] } },
});
const server = await startLanguageModel();
const proxy = await countingProxy(server.baseURL, { schemas: true });
try {
  const words = ['train', 'experiments/recipes/small-model.yaml', '--runs', options.runs, '--jobs', '1'];
  const set = ['small', 'warm'].map((name) => `endpoints.${name}.baseURL=${proxy.baseURL}`);
  const ending = new AbortController();
  process.exitCode = await runCommandLine({
    words: [...words, ...[...set, ...options.set].flatMap((each) => ['--set', each])],
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interruptSignal: () => ending.signal,
    onHangUp: () => () => {},
  });
} finally {
  proxy.close();
  await server.stop();
}
