import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { earshot, threadLines, writeExperiment } from '../experiments/cli/command-line.ts';

let cwd: string;
const run = 'runs/tiny/paper/seed-1';

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-runs-'));
  writeExperiment(join(cwd, 'tiny.yaml'), {
    seeds: [1, 2],
    variants: { paper: {}, slow: { agent: { iterations: 2 } } },
  });
  writeFileSync(join(cwd, 'other.jsonl'), threadLines(12, { prefix: 'o' }));
  const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(code, errors).toBe(0);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const edited = (name: string, edit: (text: string) => string) =>
  writeFileSync(join(cwd, name), edit(readFileSync(join(cwd, name), 'utf8')));

describe('evaluate', () => {
  it('tests a run on other threads, beside the rules', async () => {
    const table = await earshot(['evaluate', run, '--data', 'other.jsonl', '--out', 'scores.json'], { cwd });
    expect(table.code, table.errors).toBe(0);
    expect(table.out).toMatch(/^12 threads of other\.jsonl; 95% intervals by bootstrap over threads\n\nsystem /);
    for (const system of ['stop agent', 'first 4 posts', 'confidence ≥ 0.8', 'oracle'])
      expect(table.out).toMatch(new RegExp(`\n${system.split(' ')[0]} `));
    expect(table.errors).toMatch(/\nScores: scores\.json\n$/);
    const json = await earshot(['evaluate', run, '--data', 'other.jsonl', '--json'], { cwd });
    expect(json.out).toBe(readFileSync(join(cwd, 'scores.json'), 'utf8'));
    expect(JSON.parse(json.out)).toMatchObject({ run, data: 'other.jsonl', threads: 12, seed: 1 });
  });

  it('carries the agent over to the detector of another run', async () => {
    const scores = async (...args: string[]) => {
      const { code, out, errors } = await earshot(['evaluate', ...args, '--data', 'other.jsonl', '--json'], { cwd });
      expect(code, errors).toBe(0);
      return JSON.parse(out);
    };
    const detector = 'runs/tiny/paper/seed-2';
    const carried = await scores(run, '--detector', detector);
    expect(carried).toMatchObject({ run, detector, threads: 12 });
    const [own, theirs] = [await scores(run), await scores(detector)];
    const rules = ({ systems }: { systems: { name: string; macroF1: number; er: number }[] }) =>
      systems.filter(({ name }) => name !== 'stop agent').map(({ name, macroF1, er }) => ({ name, macroF1, er }));
    expect(rules(carried)).toEqual(rules(theirs));
    expect(rules(carried)).not.toEqual(rules(own));
    // The paper's agent reads posts alone, so it stops where it did.
    expect(carried.systems[0].er).toBe(own.systems[0].er);
  });

  it('prints the scores even where they cannot be written', async () => {
    const { code, out, errors } = await earshot(['evaluate', run, '--data', 'other.jsonl', '--out', 'runs'], {
      cwd,
    });
    expect(code).toBe(1);
    expect(out).toContain('\nstop agent ');
    expect(errors).toMatch(/earshot: cannot write \d+ bytes to runs \(EISDIR\)/);
  });

  it('says so when the run is not finished', async () => {
    cpSync(join(cwd, run), join(cwd, 'begun'), { recursive: true });
    rmSync(join(cwd, 'begun/result.json'));
    const { code, errors } = await earshot(['evaluate', 'begun', '--data', 'other.jsonl'], { cwd });
    expect(code).toBe(1);
    expect(errors).toContain('begun has no result.json: the run is not finished');
  });

  it('says what is wrong with a run, its policy or the data', async () => {
    const evaluate = async (folder: string, data = 'other.jsonl') => {
      const { code, out, errors } = await earshot(['evaluate', folder, '--data', data], { cwd });
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(errors).not.toContain('    at ');
      return errors;
    };
    expect(await evaluate('runs')).toContain(
      'earshot: runs is no run directory: it has no config.json; give the folder that a training made',
    );
    writeFileSync(join(cwd, 'unlabelled.jsonl'), threadLines(3, { labelled: false }));
    expect(await evaluate(run, 'unlabelled.jsonl')).toContain(
      'none of the 3 threads of unlabelled.jsonl has a label (rumor: true or false)',
    );

    cpSync(join(cwd, run), join(cwd, 'cut'), { recursive: true });
    const weights = join(cwd, 'cut/policy/policy.safetensors');
    truncateSync(weights, statSync(weights).size - 8);
    expect(await evaluate('cut')).toContain('policy.safetensors was changed after the export');
    rmSync(join(cwd, 'cut/policy'), { recursive: true });
    expect(await evaluate('cut')).toContain('cut holds no policy: there is no manifest.json in it');
  });
});

describe('compare', () => {
  const compare = (...words: string[]) => earshot(['compare', ...words], { cwd });

  it('compares two variants, and the agent with a rule, thread by thread', async () => {
    const table = await compare('runs/tiny/paper', 'runs/tiny/slow');
    expect(table.code, table.errors).toBe(0);
    expect(table.out).toMatch(
      /^stop agent of runs\/tiny\/paper\nminus stop agent of runs\/tiny\/slow\n\nAt the stop, 32 decisions paired, of 2 seeds\n\nfirst minus second +difference .*\n─+\nmacro-F1 +[+−]\d\.\d{4} +\[.*\] {2}\d\.\d{4}\nearliness .*\nqueries per thread /,
    );
    const same = JSON.parse((await compare(run, run, '--json')).out);
    expect(same).toMatchObject({
      threads: 16,
      macroF1: { difference: 0, low: expect.closeTo(-0.206, 3), high: expect.closeTo(0.206, 3) },
      er: { difference: 0 },
    });
    const rule = JSON.parse((await compare(run, run, '--second-system', 'all posts', '--json')).out);
    const [{ trials }] = JSON.parse((await earshot(['report', 'tiny.yaml', '--json'], { cwd })).out);
    const { systems } = trials[0];
    const er = (name: string) => systems.find((system: { name: string }) => system.name === name).er;
    expect(rule.er.difference).toBeCloseTo(er('stop agent') - er('all posts'), 10);
  });

  it('says what it cannot compare', async () => {
    const errors = async (...words: string[]) => {
      const outcome = await compare(...words);
      expect(outcome).toMatchObject({ code: 1, out: '' });
      return outcome.errors;
    };
    expect(await errors(run, 'nowhere')).toContain('there is no nowhere');
    expect(await errors(run, 'runs')).toContain('runs holds no decisions.jsonl, nor do folders seed-… in it');
    expect(await errors(run, run, '--system', 'first 5 posts')).toMatch(
      /has no system "first 5 posts"; it has stop agent, behaviour cloning, first post/,
    );
    cpSync(join(cwd, run), join(cwd, 'foreign'), { recursive: true });
    edited('foreign/config.json', (text) => text.replace('{', '{"kind":"detectors",'));
    expect(await errors(run, 'foreign')).toContain(
      `${run} holds runs of kind stop-agent and foreign of kind detectors; compare runs of one kind`,
    );
    cpSync(join(cwd, run), join(cwd, 'stranger'), { recursive: true });
    edited('stranger/decisions.jsonl', (text) => text.replaceAll('"item":"', '"item":"x'));
    expect(await errors(run, 'stranger')).toContain(
      `${run} and stranger share no tested thread under the same seed (16 and 16 decisions); compare runs with the same split, tests and seeds`,
    );
    edited('stranger/decisions.jsonl', (text) => `${text}{"system":`);
    expect(await errors(run, 'stranger')).toMatch(
      /stranger\/decisions\.jsonl, line 33, was made by another version of Earshot, or is damaged \(it is not JSON: {"system":\): run again/,
    );
    edited('stranger/decisions.jsonl', (text) => text.slice(0, text.lastIndexOf('\n') + 1));
    rmSync(join(cwd, 'stranger/judged.jsonl'));
    expect(await errors('stranger', run)).toMatch(
      /stranger\/judged\.jsonl was made by another version of Earshot, or is damaged \(it is missing\): run again/,
    );
  });
});

describe('report', () => {
  it('prints the table without running anything', async () => {
    const report = await earshot(['report', 'tiny.yaml'], { cwd });
    expect(report).toMatchObject({ code: 0, errors: '' });
    expect(report.out).toMatch(/\nstop agent: +0\./);
    expect(report.out).toContain('\n  earshot train tiny.yaml\n');
    expect(readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8')).toContain('| **stop agent: slow** ');
    const json = await earshot(['report', 'tiny.yaml', '--json'], { cwd });
    expect(JSON.parse(json.out)).toMatchObject([{ variant: 'paper' }, { variant: 'slow' }]);
  });

  it('passes over a link that leads nowhere', async () => {
    const link = join(cwd, 'runs/tiny/paper/old');
    symlinkSync('nowhere', link);
    const { code, out, errors } = await earshot(['report', 'runs/tiny'], { cwd });
    rmSync(link);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(out).toContain('tiny: ');
  });

  it('tells of runs that are missing', async () => {
    const some = await earshot(['report', 'tiny.yaml', '--set', 'seeds=[1, 7]'], { cwd });
    expect(some.errors).toBe('\nearshot: 2 of 4 runs are not finished yet\n');
    expect(some.out).toContain("\n  earshot train tiny.yaml --set 'seeds=[1, 7]'\n");
    const none = await earshot(['report', 'tiny.yaml', '--runs', 'none'], { cwd });
    expect(none).toEqual({
      code: 1,
      out: '',
      errors: 'earshot: no run of tiny is finished in none; run `earshot train tiny.yaml` first\n',
    });
    expect(existsSync(join(cwd, 'none'))).toBe(false);
  });
});

it('knows what each command is for', async () => {
  const { out } = await earshot(['--help'], { cwd });
  for (const name of [
    'data',
    'annotate',
    'annotations',
    'train',
    'evaluate',
    'compare',
    'report',
    'decide',
    'export',
    'doctor',
  ])
    expect(out).toMatch(new RegExp(`^  ${name}[ |]`, 'm'));
});
