/*
 * What a sweep of very many trials costs apart from the training: one tiny trial is trained, and its files stand in for those of all
 * others. Prints what a trial takes on the disk with each --keep, and time and memory of the table, the report and the pictures. With
 * --queue, sweeps of 6 and of 60 tiny trials also say what a queue adds to a trial. Usage:
 *
 *   node --import tsx benchmarks/many-trials.ts [--trials 10000] [--queue redis://localhost:6379]
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { runsBelow } from '../experiments/run/runs-below.ts';
import { tinySweep } from '../tests/experiments/cli/tiny.ts';

const { values } = parseArgs({
  options: { trials: { type: 'string', default: '10000' }, queue: { type: 'string' } },
});
const count = Number(values.trials);
const cwd = mkdtempSync(join(tmpdir(), 'earshot-many-trials-'));
const program = join(import.meta.dirname, '../experiments/cli/earshot.mjs');

/** Runs the command line and returns what it took: processor time, which other work disturbs little, and the most memory. */
async function earshot(...words: string[]) {
  const measured = ['-f', '%U %S %M', process.execPath, '--max-old-space-size=8192', program, ...words];
  const { stderr } = await promisify(execFile)('/usr/bin/time', measured, { cwd, maxBuffer: 1e9 });
  const [user, system, kilobytes] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
  return { seconds: user + system, megabytes: kilobytes / 1024 };
}

/** Processor time that sweep and worker take for a trial on a queue, beyond that of a sweep without one. */
async function queueOverhead(queue: string): Promise<number> {
  const added = [];
  for (const seeds of [2, 20]) {
    const name = `queue-${seeds}`;
    const file = { ...tinySweep, name, seeds: Array.from({ length: seeds }, (_, index) => index + 1) };
    writeFileSync(join(cwd, `${name}.yaml`), JSON.stringify(file));
    const alone = await earshot('sweep', `${name}.yaml`, '--runs', 'alone', '--jobs', '1');
    const [head, worker] = await Promise.all([
      earshot('sweep', `${name}.yaml`, '--runs', 'queued', '--queue', queue),
      earshot('worker', '--runs', `worker-${seeds}`, '--queue', queue, '--jobs', '1', '--idle', '10'),
    ]);
    added.push(head.seconds + worker.seconds - alone.seconds);
  }
  return (added[1] - added[0]) / 54;
}

const trialsIn = (folder: string) => runsBelow(folder, 2);

const bytesUnder = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

try {
  const space = { 'agent.imitation.alpha': [0.6, 0.7] };
  writeFileSync(join(cwd, 'two.yaml'), JSON.stringify({ ...tinySweep, name: 'two', seeds: [1], space }));
  for (const keep of ['all', 'policies', 'results']) {
    await earshot('sweep', 'two.yaml', '--keep', keep, '--runs', keep, '--jobs', '1');
    const folder = join(cwd, keep, 'two');
    const bytes = trialsIn(folder).reduce((sum, trial) => sum + bytesUnder(trial), 0) / 2;
    console.log(`--keep ${keep}: ${(bytes / 1024).toFixed(0)} KB a trial, with what is shared counted in each`);
  }
  const settings = Array.from({ length: count }, (_, index) => 0.3 + (0.6 * index) / count);
  const many = { ...tinySweep, name: 'many', seeds: [1], space: { 'agent.imitation.alpha': settings } };
  writeFileSync(join(cwd, 'many.yaml'), JSON.stringify(many));
  const listed = spawnSync(process.execPath, [program, 'sweep', 'many.yaml', '--dry-run'], {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  const ids = listed.stdout.split('\n').flatMap((line) => /^([0-9a-f]{12}\/seed-1) /.exec(line)?.[1] ?? []);
  const [trained] = trialsIn(join(cwd, 'results/two'));
  for (const [index, id] of ids.entries()) {
    const folder = join(cwd, 'runs/many', id);
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(trained)) {
      if (/^(judged|parts)/.test(name)) linkSync(join(trained, name), join(folder, name));
      else cpSync(join(trained, name), join(folder, name));
    }
    const config = JSON.parse(readFileSync(join(trained, 'config.json'), 'utf8'));
    config.name = 'many';
    config.agent.imitation.alpha = settings[index];
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  }
  // Without it they would be taken for runs of no sweep; the sweep writes its own over it.
  cpSync(join(cwd, 'results/two/experiment.json'), join(cwd, 'runs/many/experiment.json'));
  const { seconds, megabytes } = await earshot('sweep', 'many.yaml', '--keep', 'results');
  const disk = Number(spawnSync('du', ['-sk', 'runs/many'], { cwd, encoding: 'utf8' }).stdout.split('\t')[0]) / 1024;
  const page = readFileSync(join(cwd, 'runs/many/report.html')).length / 1024 / 1024;
  console.log(
    `${ids.length} finished trials: table, report and page in ${seconds.toFixed(0)} s of the processor with ${megabytes.toFixed(0)} MB; ${disk.toFixed(0)} MB on the disk, a page of ${page.toFixed(1)} MB`,
  );
  if (values.queue !== undefined)
    console.log(
      `A queue adds ${(1000 * (await queueOverhead(values.queue))).toFixed(0)} ms of the processor to a trial`,
    );
} finally {
  rmSync(cwd, { recursive: true, force: true });
}
