import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { detectorFileSchema } from '../../../experiments/config/detector-file.ts';
import { optionLines } from '../../../experiments/config/option-lines.ts';
import { selectorExperimentSchema } from '../../../experiments/selector/experiment.ts';
import { experimentSchema } from '../../../experiments/stop-agent/experiment.ts';
import { sweepSchema } from '../../../experiments/sweep/sweep-file.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

const schema = z.strictObject({
  name: z.string().describe('what it is called'),
  depth: z
    .strictObject({ metres: z.number().min(0).default(3).describe('how deep') })
    .prefault({})
    .describe('where'),
  boat: z
    .discriminatedUnion('name', [
      z.strictObject({ name: z.literal('sail'), masts: z.int().default(1) }),
      z.strictObject({ name: z.literal('motor'), fuel: z.enum(['diesel', 'petrol']) }),
    ])
    .prefault({ name: 'sail' }),
  crew: z.array(z.string()).nullable().optional(),
});

describe('optionLines', () => {
  it('lists every option with its values, its default and what it means', () => {
    expect(optionLines(schema)).toEqual([
      { path: 'name', values: 'string', byDefault: null, description: 'what it is called' },
      { path: 'depth', values: 'map', byDefault: '{}', description: 'where' },
      { path: 'depth.metres', values: 'number', byDefault: '3', description: 'how deep' },
      { path: 'boat', values: 'sail | motor', byDefault: '{"name":"sail"}', description: '' },
      { path: 'boat[sail].name', values: 'sail', byDefault: null, description: '' },
      { path: 'boat[sail].masts', values: 'integer', byDefault: '1', description: '' },
      { path: 'boat[motor].name', values: 'motor', byDefault: null, description: '' },
      { path: 'boat[motor].fuel', values: 'diesel | petrol', byDefault: null, description: '' },
      { path: 'crew', values: 'list of string | null', byDefault: '', description: '' },
    ]);
  });

  it('lists what is below a place, of one alternative or of any', () => {
    const below = (place: string) => optionLines(schema, place).map(({ path }) => path);
    expect(below('depth')).toEqual(['depth', 'depth.metres']);
    expect(below('boat.name')).toEqual(['boat[sail].name', 'boat[motor].name']);
    expect(below('boat[motor]')).toEqual(['boat[motor].name', 'boat[motor].fuel']);
    expect(below('dep')).toEqual([]);
  });

  it.each(Object.entries({ experimentSchema, selectorExperimentSchema, detectorFileSchema, sweepSchema }))(
    'reads the whole of %s',
    (_, whole) => {
      const lines = optionLines(whole);
      expect(lines.length).toBeGreaterThan(15);
      expect(new Set(lines.map(({ path }) => path)).size).toBe(lines.length);
    },
  );
});

describe('options', () => {
  it('prints options of a kind of file, or its JSON Schema, and names what there is instead of what there is not', async () => {
    const cwd = temporaryFolder();
    const printed = await earshot(['options', 'stop-agent', 'agent.imitation.alpha'], { cwd });
    expect(printed.out).toMatch(/^agent\.imitation\.alpha: number; default 0\.7\n {4}\S/);
    const unknown = await earshot(['options', 'selector', 'selecter'], { cwd });
    expect(unknown.code).toBe(1);
    expect(unknown.errors).toContain('selector files have no option selecter; `earshot options selector` lists all');
    const json = await earshot(['options', 'detector', '--json-schema'], { cwd });
    expect(JSON.parse(json.out)).toMatchObject({ type: 'object', required: ['detector', 'task'] });
  });
});
