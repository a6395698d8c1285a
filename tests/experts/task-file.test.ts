import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadJudgingTask } from '../../experts/tasks/task-file.ts';
import { InputError } from '../../src/errors.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

it.each([
  ['labels: [', /^the task .*t\.yaml is not valid YAML: /],
  ['labels: *none', /^the task .*t\.yaml is not valid YAML: .*none/],
  ['name: x', /^the task .*t\.yaml is wrong:/],
])('a task file of %j is an error of the user', async (text, message) => {
  const folder = temporaryFolder({ 't.yaml': text });
  const loaded = loadJudgingTask(join(folder, 't.yaml'));
  await expect(loaded).rejects.toThrow(InputError);
  await expect(loaded).rejects.toThrow(message);
});
