import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { interopPython } from './python.ts';
import { freePort } from './serving.ts';

it('TensorBoard shows the scalars and the settings of runs', async () => {
  const cwd = temporaryFolder();
  writeExperiment(join(cwd, 'tiny.yaml'), {
    variants: { few: {}, more: { agent: { ...tiny.agent, iterations: 6 } } },
  });
  const trained = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  const python = interopPython(join(import.meta.dirname, 'requirements-trackers.txt'));
  const port = await freePort();
  const words = ['-m', 'tensorboard.main', '--logdir', join(cwd, 'runs/tiny'), '--port', String(port)];
  const board = spawn(python, words, { stdio: 'ignore' });
  onTestFinished(() => void board.kill('SIGKILL'));
  const address = `http://localhost:${port}`;
  const asked = async <Answer>(schema: z.ZodType<Answer>, path: string, body?: object) => {
    const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(address + path, options).catch(() => null);
    return schema.parse(response?.ok === true ? await response.json() : null);
  };
  const runs = ['few/seed-1', 'more/seed-1'];
  await expect
    .poll(async () => (await asked(z.array(z.string()).nullable(), '/data/runs'))?.sort(), { timeout: 120_000 })
    .toEqual(runs);
  const tags = await asked(z.record(z.string(), z.record(z.string(), z.unknown())), '/data/plugin/scalars/tags');
  expect(Object.keys(tags['more/seed-1'])).toEqual(expect.arrayContaining(['ppo/entropy', 'discriminator/penalty']));
  const scalars = await asked(z.array(z.unknown()), '/data/plugin/scalars/scalars?run=more/seed-1&tag=ppo/entropy');
  expect(scalars).toHaveLength(6);
  const experiment = await asked(
    z.object({ hparamInfos: z.array(z.looseObject({ name: z.string() })) }),
    '/data/plugin/hparams/experiment',
    { experimentName: '' },
  );
  const settings = new Map(experiment.hparamInfos.map((info) => [info.name, info]));
  expect(settings.get('agent.iterations')).toMatchObject({ type: 'DATA_TYPE_FLOAT64' });
  expect(settings.has('agent.algorithm')).toBe(true);
  const groups = await asked(
    z.object({ sessionGroups: z.array(z.object({ hparams: z.record(z.string(), z.unknown()) })) }),
    '/data/plugin/hparams/session_groups',
    {
      experimentName: '',
      startIndex: 0,
      sliceSize: 10,
      allowedStatuses: ['STATUS_UNKNOWN', 'STATUS_SUCCESS', 'STATUS_FAILURE', 'STATUS_RUNNING'],
      colParams: [],
    },
  );
  const iterations = groups.sessionGroups.map(({ hparams }) => hparams['agent.iterations']);
  expect(iterations.sort()).toEqual([4, 6]);
});
