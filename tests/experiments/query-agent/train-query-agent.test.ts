import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startServer } from '../../experts/llm/service.ts';
import { lastMessage } from '../../llm-server/scripted-rule.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';

const threads = Array.from({ length: 64 }, (_, index) => makeThread(`t${index}`, { posts: 4, rumor: index % 2 === 0 }));

/** A model that always says yes and costs nothing, and one that is right and costs money. */
async function folder(more: object = {}) {
  const server = await startServer((body) => {
    if (body.model === 'yes') return 'Yes';
    return / of t\d*[02468]\n/.test(lastMessage(body)) ? 'Yes' : 'No';
  });
  const endpoint = (model: string, inputPerMillion: number) => ({
    baseURL: server.baseURL,
    model,
    prices: { inputPerMillion },
    logprobs: 'off',
  });
  const experiment = {
    kind: 'several-detectors',
    name: 'both',
    seeds: [1],
    data: { threads: 'threads.jsonl' },
    split: { train: 0, labelled: 20, development: 12 },
    endpoints: { yes: endpoint('yes', 0), right: endpoint('right', 1) },
    detectors: {
      yes: { detector: { name: 'single-prompt', model: 'yes' }, replies: [0, 'all'] },
      right: { detector: { name: 'single-prompt', model: 'right' }, replies: [0], price: { money: 1000 } },
    },
    settings: [
      { iterations: 1, hidden: 4, learningRate: 1e-9 },
      { iterations: 10, hidden: 4, learningRate: 0.1 },
    ],
    ...more,
  };
  const cwd = temporaryFolder({
    'threads.jsonl': threads.map((thread) => JSON.stringify(thread)).join('\n'),
    'both.yaml': experiment,
  });
  return { cwd, server, run: (...words: string[]) => earshot(['train', 'both.yaml', ...words], { cwd }) };
}

it('chooses settings on the development part, learns to pay for the right detector, and stands beside rules', async () => {
  const { cwd, server, run } = await folder();
  const { code, out, errors } = await run();
  expect(code, errors).toBe(0);
  const read = (...path: string[]) => readFileSync(join(cwd, 'runs/both', ...path), 'utf8');
  const result = JSON.parse(read('agent/seed-1/result.json'));
  expect(result).toMatchObject({ chosen: 2, part: 'test', threads: { labelled: 20, development: 12, test: 32 } });
  expect(result.returns[1]).toBeGreaterThan(result.returns[0]);
  const decisions: { system: string; cost: number; asks: object; gold: string; predicted: string }[] = read(
    'agent/seed-1/decisions.jsonl',
  )
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const own = decisions.filter(({ system }) => system === 'agent');
  expect(own).toHaveLength(32);
  // Its answer is always that of the detector that is right; what it cost are its tokens at the price given.
  expect(own.every(({ gold, predicted }) => gold === predicted)).toBe(true);
  expect(own.every(({ cost }) => cost > 0.01 && cost < 0.5)).toBe(true);
  expect(out).toMatch(/\nagent +0\.\d{3} +1\.000 +0\.250 /);
  expect(out).toMatch(/\nyes at 1 +0\.\d{3} +0\.333 +0\.250 +0\.0000 +\+0\.\d{3} \[/);
  expect(read('report.md')).toContain('settings 2 0.');

  const requests = server.requests.length;
  const again = await run('--json');
  expect(JSON.parse(again.out)[0].trials[0].systems[0]).toMatchObject({
    title: 'agent',
    values: { macroF1: 1, 'asks of right': 1 },
  });
  expect(server.requests).toHaveLength(requests);

  const folderOfSeeds = 'runs/both/agent';
  const compared = (...words: string[]) =>
    earshot(['compare', folderOfSeeds, folderOfSeeds, '--second-system', ...words], { cwd });
  // The cheap detector says yes to all: two thirds less macro-F1, at no cost.
  const [{ items, seeds, macroF1, cost }] = JSON.parse((await compared('yes at 1', '--json')).out);
  expect({ items, seeds }).toEqual({ items: 32, seeds: 1 });
  expect(macroF1.difference).toBeCloseTo(2 / 3, 10);
  expect(cost.low).toBeGreaterThan(0);
  expect((await compared('yes at 1')).out).toMatch(
    /At the stop, 32 decisions paired, of 1 seed\nreturn +[+−-]0\.\d{4}/,
  );
  expect((await compared('nobody')).errors).toContain('has no system "nobody"; it has agent, ');

  const exported = await earshot(['export', `${folderOfSeeds}/seed-1`, '--out', 'bundle'], { cwd });
  expect(exported.code).toBe(1);
  expect(exported.errors.replaceAll('\n', ' ')).toContain('a bundle cannot ask them for it, so it has none');
});

it('is reported with every finished seed of its settings, whichever command trained it', async () => {
  const { cwd, run } = await folder({ settings: [{ iterations: 2, hidden: 4 }] });
  for (const seed of ['1', '2']) expect((await run('--seeds', seed)).code).toBe(0);
  expect((await run('--seeds', '3', '--set', 'delayCost=0.1', '--name', 'both')).code).toBe(0);
  const report = (...words: string[]) => earshot(['report', 'both.yaml', ...words], { cwd });
  const { code, out, errors } = await report();
  expect(code, errors).toBe(0);
  expect(out).toContain('Command: `earshot report both.yaml`');
  expect(out).toContain('seeds 1, 2; threads');
  const { out: second } = await report('--json', '--set', 'seeds=[2]');
  expect(second).toContain('"seed": 2');
  expect(second).not.toContain('"seed": 1');
  expect((await report('--set', 'seeds=[9]')).errors).toContain(
    "run `earshot train both.yaml --set 'seeds=[9]'` first",
  );
});

it('leaves the test alone where the development part is decided', async () => {
  const { cwd, server, run } = await folder({ evaluation: { part: 'development' } });
  const { code, out, errors } = await run();
  expect(code, errors).toBe(0);
  // Three judgements of each labelled thread, the cheap detector's at two lengths.
  expect(server.requests).toHaveLength(3 * 32);
  expect(existsSync(join(cwd, 'runs/both/agent/seed-1/decisions.jsonl'))).toBe(false);
  expect(out.replaceAll('\n', ' ')).toMatch(/the agent returns 0\.\d{3} on the development part/);
});

it('is swept by its return on the development part', async () => {
  const sweep = {
    kind: 'sweep',
    name: 'prices',
    experiment: 'both.yaml',
    seeds: [1],
    settings: { settings: [{ iterations: 2, hidden: 4 }] },
    space: { 'detectors.right.price.judgement': [0, 0.3] },
  };
  const { cwd } = await folder();
  writeFileSync(join(cwd, 'sweep.yaml'), JSON.stringify(sweep));
  const { code, out, errors } = await earshot(['sweep', 'sweep.yaml'], { cwd });
  expect(code, errors).toBe(0);
  expect(out).toContain('highest meanReturn on the development part');
});

it('says what is wrong with an experiment', async () => {
  const refused = async (more: object) => (await (await folder(more)).run()).errors;
  expect(await refused({ detectors: { yes: {} } })).toContain('names 1; an agent that chooses needs at least two');
  expect(await refused({ detectors: { yes: {}, right: {} } })).toContain('a local detector is trained here');
  expect(await refused({ delayCosts: 1 })).toContain('delayCost');
});
