import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { loadPolicy } from '../../../checkpoints/policy/load-policy.ts';
import type { Manifest } from '../../../checkpoints/policy/manifest.ts';
import { type DetectorOutput, judgePostsBy } from '../../../checkpoints/policy/policy-post.ts';
import type { Access } from '../../../experiments/serve/access.ts';
import { servedModels } from '../../../experiments/serve/models.ts';
import { type ServeOptions, type Serving, serve } from '../../../experiments/serve/serve.ts';
import { createServer } from '../../../experiments/serve/server.ts';
import type { AuditSettings } from '../../../experiments/serve/thread-audits.ts';
import { memoryThreads, type ThreadStore } from '../../../experiments/serve/thread-store.ts';
import { openPolicy } from '../../../experiments/stop-agent/policy/policy-folder.ts';
import type { PrefixModel } from '../../../src/data/prefix-model.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import type { Prefix } from '../../../src/data/thread.ts';
import { dimensions, randomNetwork, replyModel, smallBundle } from '../../checkpoints/policy/small-bundle.ts';

export const limits = {
  bodyBytes: 1e6,
  requestMs: 30_000,
  maxConnections: 4096,
  maxReadings: 100,
  predictionMs: 60_000,
};
export const threadLimits = { maxThreads: 1000, idleMs: 3_600_000, maxCharacters: 1e6 };

/** A bundle that stops some threads early, some late and some never, with a detector. */
export function mixedBundle(manifest: Partial<Manifest> = {}, detector: PrefixModel = replyModel): Promise<string> {
  const network = randomNetwork({ inputs: dimensions, seed: 5 });
  network.moments.mean.fill(0);
  network.moments.variance.fill(1);
  network.layers.b3[1] -= 1;
  const files = {
    'detector.json': JSON.stringify(detector),
    'trained.json': '[]',
    'tested.json': '[]',
    'README.md': 'Rule: the first post.\n',
  };
  return smallBundle({ network, files, manifest: { detector: 'detector.json', ...manifest } });
}

/** A bundle whose policy stops at the first post, or never. */
export function biasedBundle(bias: number): Promise<string> {
  const network = randomNetwork({ inputs: dimensions });
  network.layers.b3.set([0, bias]);
  const files = { 'detector.json': JSON.stringify(replyModel) };
  return smallBundle({ network, files, manifest: { detector: 'detector.json' } });
}

export const threads = synthesizeThreads({ threads: 60, seed: 3 });

export interface SmallServerOptions {
  bundles?: Readonly<Record<string, string>>;
  access?: Access;
  store?: ThreadStore;
  limits?: Partial<typeof limits>;
  /** In place of the bundles' own detectors. */
  ask?: (prefix: Prefix) => Promise<DetectorOutput>;
  now?: () => Date;
  audits?: AuditSettings;
}

/** A server that is not listening, for requests by `inject`, and what it logged. */
export async function smallServer(options: SmallServerOptions = {}) {
  const { bundles = { small: await mixedBundle() }, access = { kind: 'local' }, ask } = options;
  const sources = Object.entries(bundles).map(([name, folder]) => ({ name, folder }));
  const log: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(line) });
  const models = servedModels(sources, async ({ name, folder }) => {
    if (ask === undefined) return { name, policy: await openPolicy(folder) };
    const read = (file: string) => readFile(join(folder, file));
    return { name, policy: await loadPolicy({ read, judge: judgePostsBy({ judge: ask }) }) };
  });
  await models.loadAll();
  const store = options.store ?? memoryThreads(threadLimits);
  const { app, state, endQuietThreads } = await createServer({
    models,
    store,
    access,
    limits: { ...limits, ...options.limits },
    logger,
    now: options.now,
    audits: options.audits,
  });
  onTestFinished(async () => {
    await app.close();
  });
  const post = async (id: string, body: unknown, { query = '' }: { query?: string } = {}) => {
    const url = `/v1/threads/${encodeURIComponent(id)}/posts${query}`;
    const response = await app.inject({ method: 'POST', url, payload: JSON.stringify(body), headers: json });
    return { status: response.statusCode, body: response.json() };
  };
  const get = async (url: string) => {
    const response = await app.inject(url);
    return { status: response.statusCode, body: response.json() };
  };
  const decide = async (body: unknown, query = '') => {
    const response = await app.inject({
      method: 'POST',
      url: `/v1/decide${query}`,
      payload: JSON.stringify(body),
      headers: json,
    });
    return { status: response.statusCode, body: response.json() };
  };
  return { app, state, models, store, log, post, get, decide, endQuietThreads };
}

export const json = { 'content-type': 'application/json' };

/** A listening server on a free port, and what it logged. */
export async function listening(options: Partial<ServeOptions> & { folder?: string } = {}) {
  const { folder = await mixedBundle(), ...rest } = options;
  const log: string[] = [];
  let stopped: Promise<void> | null = null;
  const serving = await serve({
    models: [{ name: 'small', folder }],
    host: '127.0.0.1',
    port: 0,
    access: { kind: 'local' },
    sessions: 'memory',
    threadLimits,
    limits,
    drainMs: 0,
    finishMs: 10_000,
    log: { write: (line) => void log.push(line) },
    logLevel: 'info',
    ...rest,
  });
  const stop = () => {
    stopped ??= serving.stop();
    return stopped;
  };
  onTestFinished(stop);
  const own: Serving = { ...serving, stop };
  return { ...own, log };
}
