import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { modelSources, servedModels } from '../../../experiments/serve/models.ts';
import { openPolicy } from '../../../experiments/stop-agent/policy/policy-folder.ts';
import { biasedBundle, json, listening, mixedBundle, smallServer } from './small-server.ts';

it('names models by their folders, or as they are told', () => {
  expect(modelSources(['policies/weibo/', 'b=/x/y'])).toEqual([
    { name: 'weibo', folder: 'policies/weibo/' },
    { name: 'b', folder: '/x/y' },
  ]);
  expect(() => modelSources(['a/policy', 'b/policy'])).toThrow(
    'two bundles are called policy; give one of them another name',
  );
  expect(() => modelSources(['a b=x'])).toThrow('"a b" cannot name a model');
  expect(() => modelSources(['x/..hidden'])).toThrow('cannot name a model');
});

it('is ready when the golden threads of every bundle are decided, and not before', async () => {
  const policy = await openPolicy(await mixedBundle());
  let finish = () => {};
  const tested = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const models = servedModels([{ name: 'slow', folder: 'x' }], async ({ name }) => {
    await tested;
    return { name, policy };
  });
  const loading = models.loadAll();
  expect(models.areReady()).toBe(false);
  expect(() => models.get('slow')).toThrow('still being loaded and tested');
  finish();
  await loading;
  expect(models.areReady()).toBe(true);
});

it('does not start with a bundle whose files were changed or whose golden threads are decided differently', async () => {
  const folder = await mixedBundle();
  const bytes = readFileSync(join(folder, 'policy.safetensors'));
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(join(folder, 'policy.safetensors'), bytes);
  await expect(listening({ folder })).rejects.toThrow('policy.safetensors was changed after the export');
  await expect(listening({ folder: '/nowhere' })).rejects.toThrow('there is no /nowhere');
});

it('keeps the bundle before it where a new one fails, and drops no request while it loads', async () => {
  const folder = await biasedBundle(-50);
  const { app, models, log } = await smallServer({ bundles: { small: folder } });
  const before = models.get('small').policy.manifest.sha256;
  const load = () => app.inject({ method: 'POST', url: '/v2/repository/models/small/load' });
  const good = readFileSync(join(folder, 'golden.jsonl'));
  writeFileSync(join(folder, 'golden.jsonl'), 'changed');
  const failed = await load();
  expect(failed.statusCode).toBe(400);
  expect(failed.json().error).toContain(': golden.jsonl was changed after the export');
  expect(models.get('small').policy.manifest.sha256).toBe(before);
  // Callers are not told where the server keeps its files.
  rmSync(join(folder, 'golden.jsonl'));
  const missing = (await load()).json().error;
  expect(missing).toContain(': cannot read golden.jsonl of the bundle (ENOENT)');
  expect(missing).not.toContain('/');
  writeFileSync(join(folder, 'golden.jsonl'), good);

  rmSync(folder, { recursive: true });
  cpSync(await biasedBundle(50), folder, { recursive: true });
  const requests = Array.from({ length: 200 }, (_, index) =>
    app.inject({
      method: 'POST',
      url: `/v1/threads/t${index}/posts`,
      payload: { posts: [{ id: 'a', text: 'text' }] },
      headers: json,
    }),
  );
  const [loaded, ...answers] = await Promise.all([load(), ...requests]);
  expect(loaded.statusCode).toBe(200);
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(models.get('small').policy.manifest.sha256).not.toBe(before);
  const metrics = (await app.inject('/metrics')).body;
  expect(metrics).toContain('earshot_reloads_total{model="small",outcome="loaded"} 1');
  expect(metrics).toContain('earshot_reloads_total{model="small",outcome="failed"} 2');
  expect(metrics).toContain('earshot_open_threads 200');
  expect(log.filter((line) => line.includes('defect'))).toEqual([]);
});

it('is not ready from the moment it is told to stop, nor while threads cannot be kept', async () => {
  const { get, decide, state, store } = await smallServer();
  expect((await get('/v2/health/ready')).status).toBe(200);
  store.isReady = () => false;
  expect(await get('/v2/health/ready')).toMatchObject({
    status: 503,
    body: { error: expect.stringContaining('store') },
  });
  state.isClosing = true;
  expect(await get('/v2/health/ready')).toMatchObject({ status: 503, body: { error: 'the server is being stopped' } });
  expect((await decide({ threads: [{ posts: [{ text: 'a claim' }] }] })).status).toBe(200);
});

it('shows what can be asked, as a document and as a page', async () => {
  const { app } = await smallServer();
  const document = (await app.inject('/openapi.json')).json();
  expect(Object.keys(document.paths).sort()).toEqual([
    '/docs',
    '/metrics',
    '/openapi.json',
    '/v1/decide',
    '/v1/guarantee',
    '/v1/threads/{id}',
    '/v1/threads/{id}/posts',
    '/v2/health/live',
    '/v2/health/ready',
    '/v2/repository/models/{model}/load',
  ]);
  // Generators of clients fail on schemas that are true or false.
  expect(JSON.stringify(document)).not.toMatch(/"items":(?:true|false)/);
  const page = await app.inject('/docs');
  expect(page.headers['content-type']).toContain('text/html');
  for (const path of Object.keys(document.paths)) expect(page.body).toContain(` ${path}</code>`);
  expect(page.body).not.toContain('<script');
});

it('leads from any other address to what can be asked', async () => {
  const { get } = await smallServer();
  for (const url of ['/', '/v1', '/v2/models/small/infer'])
    expect(await get(url), url).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('; /docs lists what') },
    });
});
