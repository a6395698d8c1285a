import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../../experts/annotations/annotation-store.ts';
import { askOnceIn } from '../../../../experts/asking/ask-once.ts';
import { DryRunChatService } from '../../../../experts/llm/cost/dry-run-chat-service.ts';
import type { WrittenTuningFile } from '../../../../experts/task-models/chat/fine-tuning.ts';
import { InputError, ProviderError } from '../../../../src/errors.ts';
import { startServer } from '../../llm/service.ts';
import { reply, shownPost, stanceExample, stanceModel } from './models.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'earshot-fine-tuning-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const examples = [stanceExample('yes', 0, 'a', 'It agrees.'), stanceExample('no', 1)];

type More = Partial<Parameters<typeof stanceModel>[0]>;

async function setUp() {
  const server = await startServer((body) => `says ${body.model}\nDeny`);
  const fineTuning = { directory, createJob: true, pollMs: 1, examplesAtLeast: 1 };
  const model = (more: More = {}, changed: Record<string, unknown> = {}) =>
    stanceModel({ server, options: { tuning: 'fine-tuning', fineTuning: { ...fineTuning, ...changed } }, ...more });
  const judgeOf = async (each: ReturnType<typeof model>, item = reply('new')) => {
    const [{ explanation }] = await each.predict([item]);
    return explanation.replace('says ', '');
  };
  return { server, jobs: server.fineTuning, model, judgeOf };
}

function stateFiles(): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(directory, name));
}

describe('fine-tuning', () => {
  it('writes a file of conversations, and asks the untuned model where no job is wanted', async () => {
    const { server, jobs, model, judgeOf } = await setUp();
    const files: WrittenTuningFile[] = [];
    const tuned = model({ onFile: (file) => files.push(file) }, { createJob: false });
    await tuned.pretrain(examples.slice(0, 1));
    await tuned.tune(examples);
    await tuned.tune(examples);
    expect(files).toMatchObject([
      { purpose: 'pretrain', examples: 1 },
      { purpose: 'tune', examples: 2 },
      { purpose: 'tune', examples: 2 },
    ]);
    expect(files[2].path).toBe(files[1].path);
    expect(files[1].path).toMatch(/stance-[0-9a-f]{16}\.jsonl$/);
    expect(readdirSync(directory)).toHaveLength(2);
    const lines = readFileSync(files[1].path, 'utf8').trimEnd().split('\n');
    const [first, second] = lines.map((line) => JSON.parse(line));
    expect(first.messages[1]).toEqual({ role: 'assistant', content: 'It agrees.\nSupport' });
    expect(second).toEqual({
      messages: [
        { role: 'user', content: expect.stringContaining(`\n\n${shownPost('claim of no', 'no')}`) },
        { role: 'assistant', content: 'Deny' },
      ],
    });
    expect(await judgeOf(tuned)).toBe('tiny');
    // What is learned is asked in the same words.
    const instruction = second.messages[0].content.split('\n\n')[0];
    expect(server.requests[0].body.messages).toEqual([
      { role: 'user', content: `${instruction}\n\n${shownPost('The dam broke', 'new')}` },
    ]);
    expect(jobs.files.size).toBe(0);
  });

  it('creates jobs, follows them, and asks the tuned model', async () => {
    const { jobs, model, judgeOf } = await setUp();
    const statuses: string[] = [];
    const tuned = model({ onStatus: (status) => statuses.push(status) }, { epochs: 3 });
    await tuned.pretrain([stanceExample('p', 2)]);
    expect(await judgeOf(tuned)).toBe('ft:tiny:1');
    await tuned.tune(examples);
    expect(statuses).toEqual(['running', 'succeeded', 'running', 'succeeded']);
    // Tuning goes on from pretraining.
    expect(jobs.jobs.map(({ asked }) => asked)).toEqual([
      { model: 'tiny', training_file: 'file-1', hyperparameters: { n_epochs: 3 } },
      { model: 'ft:tiny:1', training_file: 'file-2', hyperparameters: { n_epochs: 3 } },
    ]);
    const uploaded = [...jobs.files.values()].map((text) => text.split('\n').map((line) => JSON.parse(line)));
    expect(uploaded.map((lines) => lines.length)).toEqual([1, 2]);
    expect(await judgeOf(tuned)).toBe('ft:ft:tiny:1:2');
    await tuned.tune([]);
    expect(await judgeOf(tuned)).toBe('ft:tiny:1');
    // Known from before: no third job.
    await tuned.tune(examples);
    expect(await judgeOf(tuned)).toBe('ft:ft:tiny:1:2');
    expect(jobs.jobs).toHaveLength(2);
  });

  it('has what a model was tuned on judged by the model before it', async () => {
    const { model, judgeOf } = await setUp();
    const tuned = model();
    await tuned.pretrain([stanceExample('p', 2)]);
    await tuned.tune(examples);
    expect(await judgeOf(tuned, examples[0].item)).toBe('ft:tiny:1');
    expect(await judgeOf(tuned, stanceExample('p', 2).item)).toBe('tiny');
    expect(await judgeOf(tuned, reply('another', 'a', 'claim of a'))).toBe('ft:ft:tiny:1:2');
  });

  it('goes on with the same job after it was stopped', async () => {
    const { jobs, model, judgeOf } = await setUp();
    jobs.pollsUntilDone = 1000;
    const abort = new AbortController();
    const stopped = model({ signal: abort.signal, onStatus: () => abort.abort(new Error('Ctrl-C')) });
    await expect(stopped.tune(examples)).rejects.toThrow('Ctrl-C');
    const [path] = stateFiles();
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ fileId: 'file-1', jobId: 'ftjob-1', model: 'tiny' });
    jobs.pollsUntilDone = 1;
    const later = model();
    await later.tune(examples);
    expect(await judgeOf(later)).toBe('ft:tiny:1');
    expect([jobs.files.size, jobs.jobs.length]).toEqual([1, 1]);
  });

  it('does not create a job twice when the answer to its creation is lost', async () => {
    const { jobs, model, judgeOf } = await setUp();
    jobs.lostCreations = 1;
    const tuned = model();
    await tuned.tune(examples);
    expect(await judgeOf(tuned)).toBe('ft:tiny:1');
    expect(jobs.jobs).toHaveLength(1);
  });

  it.each(['failed', 'cancelled'] as const)(
    'reports a job that %s, again until its state is deleted',
    async (status) => {
      const { jobs, model, judgeOf } = await setUp();
      jobs.finalStatus = status;
      jobs.failure = 'the file has too few examples';
      const tuned = model();
      for (let round = 0; round < 2; round++) {
        const failing = tuned.tune(examples);
        await expect(failing).rejects.toThrow(ProviderError);
        await expect(failing).rejects.toThrow(
          new RegExp(`job ftjob-1 of model tiny ended as ${status}: .*delete .*-job-.*json to create the job again`),
        );
      }
      if (status === 'failed') await expect(tuned.tune(examples)).rejects.toThrow(/too few examples/);
      expect(await judgeOf(tuned)).toBe('tiny');
      jobs.finalStatus = 'succeeded';
      for (const path of stateFiles()) rmSync(path);
      await tuned.tune(examples);
      expect(await judgeOf(tuned)).toBe('ft:tiny:2');
    },
  );

  it('says what an endpoint refuses, and that one has no fine-tuning', async () => {
    const { server, jobs, model } = await setUp();
    jobs.refusal = { status: 400, message: 'Model tiny is not available for fine-tuning' };
    await expect(model().tune(examples)).rejects.toThrow(
      /refused to fine-tune model tiny: .*not available for fine-tuning/,
    );
    const elsewhere = server.baseURL.replace('/v1', '/v2');
    const without = model({ endpoint: { baseURL: elsewhere } });
    await expect(without.tune(examples)).rejects.toThrow(/if it has no fine-tuning, use in-context tuning/);
  });

  it('does not trust a state that is damaged', async () => {
    const { model } = await setUp();
    await model().tune(examples);
    const [path] = stateFiles();
    writeFileSync(path, '{');
    const damaged = model().tune(examples);
    await expect(damaged).rejects.toThrow(InputError);
    await expect(damaged).rejects.toThrow(/is damaged .*: check whether the endpoint has the job/);
  });

  it('makes no job of too few examples', async () => {
    const { jobs, model, judgeOf } = await setUp();
    const files: string[] = [];
    const tuned = model({ onFile: ({ path }) => files.push(path) }, { examplesAtLeast: 3 });
    await tuned.tune(examples);
    expect(await judgeOf(tuned)).toBe('tiny');
    expect(files.map((path) => existsSync(path))).toEqual([true]);
    expect(jobs.files.size).toBe(0);
  });

  it('asks anew of a tuned model, and the same after its state went through JSON', async () => {
    const { server, model, judgeOf } = await setUp();
    const askOnce = askOnceIn({ store: AnnotationStore.open(':memory:') });
    const tuned = model({ askOnce });
    expect(await judgeOf(tuned)).toBe('tiny');
    await tuned.tune(examples);
    expect(await judgeOf(tuned)).toBe('ft:tiny:1');
    const later = model({ askOnce });
    later.restore({ arrays: {}, json: JSON.parse(JSON.stringify(tuned.state().json)) });
    expect(later.state()).toEqual(tuned.state());
    expect(await judgeOf(later)).toBe('ft:tiny:1');
    expect(await judgeOf(later, examples[0].item)).toBe('tiny');
    expect(server.requests).toHaveLength(3);
    expect(() => later.restore({ arrays: {}, json: null })).toThrow(/not the state of a chat model with fine-tuning/);
  });

  it('never writes nor uploads in a dry run', async () => {
    const { server, jobs, model } = await setUp();
    const dry = model({ service: new DryRunChatService() });
    await dry.pretrain(examples);
    await dry.tune(examples);
    await dry.predict([reply('new')]);
    expect([jobs.files.size, jobs.jobs.length, server.requests.length]).toEqual([0, 0, 0]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('wants a folder', async () => {
    const { model } = await setUp();
    expect(() => model({}, { directory: null })).toThrow(/fineTuning.directory is not set/);
  });
});
