import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { tinyFolder } from '../experiments/selector/tiny-selector.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

/*
 * What a few iterations of each policy logged once, end to end: data, encoder, judgements, demonstrations or rewards,
 * updates. A change that is meant to change no number must leave these as they are. After one that is meant to, look at
 * the difference of learning-curves.json and commit what this writes:
 *
 *   EARSHOT_RECORD_CURVES=1 npx vitest run tests/scenarios/learning-curves.test.ts
 */

/**
 * Kernels that add in another order differ in the seventh digit. A few iterations carry that no further than this, unless
 * one of the draws falls the other way, which the fixed seeds make as good as impossible.
 */
const tolerance = { relative: 1e-3, absolute: 1e-5 };

const curveSchema = z.array(z.record(z.string(), z.number().nullable()));
type Curve = z.infer<typeof curveSchema>;

const recordedPath = join(import.meta.dirname, 'learning-curves.json');

function metricsOf(run: string): Curve {
  const lines = readFileSync(join(run, 'metrics.jsonl'), 'utf8').trimEnd().split('\n');
  return curveSchema.parse(lines.map((line) => JSON.parse(line)));
}

const curves: Record<string, () => Promise<Curve>> = {
  async 'stop agent'() {
    const cwd = temporaryFolder();
    // Fast enough that something is learnt in a few iterations.
    const { hidden, imitation } = tiny.agent;
    const faster = { epochs: 4, learningRate: 1e-2 };
    writeExperiment(join(cwd, 'tiny.yaml'), {
      agent: {
        iterations: 8,
        hidden,
        imitation: {
          discriminator: { ...imitation.discriminator, ...faster },
          ppo: { ...imitation.ppo, ...faster, minibatches: 4 },
        },
      },
    });
    const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code, errors).toBe(0);
    return metricsOf(join(cwd, 'runs/tiny/agent/seed-1'));
  },
  async selector() {
    const cwd = tinyFolder({ evaluation: { beside: [] } });
    const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code, errors).toBe(0);
    return metricsOf(join(cwd, 'runs/tiny/agent/seed-1'));
  },
};

it.each(Object.keys(curves))('the %s learns as it did when its curve was recorded', async (name) => {
  const curve = await curves[name]();
  const recorded = z.record(z.string(), curveSchema).parse(JSON.parse(readFileSync(recordedPath, 'utf8')));
  if (process.env.EARSHOT_RECORD_CURVES === '1') {
    writeFileSync(recordedPath, `${JSON.stringify({ ...recorded, [name]: curve }, null, 2)}\n`);
    return;
  }
  const expected = recorded[name];
  expect(curve.map((step) => Object.keys(step).sort())).toEqual(expected.map((step) => Object.keys(step).sort()));
  const different = curve.flatMap((step, index) =>
    Object.entries(step).flatMap(([metric, value]) => {
      const before = expected[index][metric];
      const isSame =
        value === null || before === null
          ? value === before
          : Math.abs(value - before) <= tolerance.absolute + tolerance.relative * Math.abs(before);
      return isSame ? [] : [`${metric} of step ${index + 1}: ${value} instead of ${before}`];
    }),
  );
  expect(different).toEqual([]);
});
