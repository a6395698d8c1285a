import { join } from 'node:path';
import { expect, it } from 'vitest';
import { missingPath, missingRun } from '../../src/missing-path.ts';
import { temporaryFolder } from './data/fixtures.ts';

it('names what is most like a path that is not there, else what is there', () => {
  const folder = temporaryFolder({
    'runs/quickstart/a.json': {},
    'runs/mine/a.json': {},
    'runs/.hidden/a.json': {},
    'runs/o.jsonl.7.unfinished': '',
  });
  const said = (path: string) => missingPath(join(folder, path)).replaceAll(`${folder}/`, '');
  expect(said('runs/quikstart')).toBe('there is no runs/quikstart; did you mean runs/quickstart?');
  expect(said('rums/mine/agent')).toBe('there is no rums/mine/agent; did you mean runs/mine/agent?');
  expect(said('runs/nope')).toBe('there is no runs/nope; runs has mine, quickstart');
  expect(said('runs/mine/a.json/x')).toBe('there is no runs/mine/a.json/x');
  expect(missingRun(join(folder, 'runs/quikstart'))).toMatch(/quickstart\? Give a run, such as/);
  expect(missingRun(join(folder, 'far/away'))).toMatch(/[^?]\. Give a run, such as/);
  const none = missingPath(join(folder, 'runs/nope'), () => false);
  expect(none).toBe(`there is no ${join(folder, 'runs/nope')}`);
});
