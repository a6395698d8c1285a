import { unwatchFile, watchFile } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { bundleFiles } from '../../checkpoints/policy/manifest.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { InputError } from '../../src/errors.ts';
import { workContext } from '../../src/work-context.ts';
import type { PrefixJudge } from '../judging/judge-single-prefixes.ts';
import { openPolicy, policyFolder } from '../stop-agent/policy/policy-folder.ts';
import { listenError } from './access.ts';
import { type ModelSource, type ServedBundle, servedModels } from './models.ts';
import { createServer, type EarshotServer, type ServerOptions } from './server.ts';
import { memoryThreads, type ThreadLimits } from './thread-store.ts';

export interface ServeOptions extends Pick<ServerOptions, 'access' | 'limits' | 'audits'> {
  readonly models: readonly ModelSource[];
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** `memory`, or the address of a Redis server. */
  readonly sessions: string;
  readonly redisPassword?: string;
  readonly threadLimits: ThreadLimits & { readonly maxCharacters: number };
  /** Replaces the bundles' own detectors. */
  readonly detector?:
    | {
        readonly file: string;
        readonly store: string;
        readonly budget: Partial<BudgetLimits>;
        readonly maxWaitMs: number | null;
      }
    | undefined;
  /** Time between the signal and the end of new connections, in which balancers notice that the server is not ready. */
  readonly drainMs: number;
  /** Further time for open requests, which are then cut off. */
  readonly finishMs: number;
  readonly log: { write(line: string): void };
  readonly logLevel: string;
}

export interface Serving {
  readonly address: string;
  /** Loads every bundle again; an invalid one leaves the earlier one in place. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

const manifestPollMs = 2000;

/**
 * Listens, then loads the bundles. The server is alive and not ready until their golden threads are decided.
 * @throws InputError for an invalid bundle, detector or address; ProviderError if Redis does not answer
 */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { host, port, access, audits, limits, threadLimits, log } = options;
  const sources = options.models.map(({ name, folder }) => ({ name, folder: policyFolder(folder) }));
  const logger = pino({ level: options.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, log);
  const { detector } = options;
  const onNote = (note: string) => logger.info({ note }, 'detector');
  const context = workContext({ onNote, maxWaitMs: detector?.maxWaitMs ?? null });
  // A thread that is sent again, after an answer that could not be read, is judged again.
  const judge =
    detector === undefined
      ? null
      : await (await import('../judging/judge-single-prefixes.ts')).openPrefixJudge({
          ...{ ...detector, retryUnreadable: true, context },
        });
  const models = servedModels(sources, async (source) => {
    const bundle = await servedBundle(source, judge);
    const { sha256 } = bundle.policy.manifest;
    logger.info({ model: bundle.name, sha256 }, 'the golden threads are decided as at the export');
    return bundle;
  });
  const store =
    options.sessions === 'memory'
      ? memoryThreads(threadLimits)
      : await (await import('./redis-threads.ts')).redisThreads(options.sessions, {
          ...{ ...threadLimits, password: options.redisPassword },
        });
  const { idleMs } = threadLimits;
  const server = await createServer({ models, store, access, limits, logger, audits, quietMs: 3 * idleMs });
  const endQuiet = async (): Promise<void> => {
    await server.endQuietThreads();
    quietTimer = setTimeout(endQuiet, Math.min(60_000, idleMs / 10)).unref();
  };
  let quietTimer: NodeJS.Timeout | undefined;
  const watched = sources.map(({ folder }) => join(folder, bundleFiles.manifest));
  const close = async () => {
    clearTimeout(quietTimer);
    for (const path of watched) unwatchFile(path);
    await closeServer(server, options);
    await judge?.close();
    await store.close();
  };
  try {
    const address = await listen(server, { host, port });
    await models.loadAll();
    const reload = async (name: string) => {
      try {
        await models.reload(name);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        logger.error({ model: name, why: error.message }, 'the bundle was not loaded, and the one before stays');
      }
    };
    // Another guarantee replaces the manifest (`calibrate`, `monitor --adapt`).
    for (const [index, path] of watched.entries())
      watchFile(path, { interval: manifestPollMs, persistent: false }, () => void reload(models.names[index]));
    if (audits !== undefined) void endQuiet();
    logger.info({ address, models: models.names, access: access.kind }, 'ready');
    return {
      address,
      async reload() {
        for (const name of models.names) await reload(name);
      },
      stop: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws InputError for an invalid bundle */
async function servedBundle({ name, folder }: ModelSource, judge: PrefixJudge | null): Promise<ServedBundle> {
  const policy = await openPolicy(folder, { judge });
  if (policy.definition.queries.lengths.length > 0 && !policy.hasDetector)
    throw new InputError(
      `the policy of ${folder} queries its detector while it reads, and the bundle does not hold the detector; start the server with --detector`,
    );
  return { name, policy };
}

async function listen({ app }: EarshotServer, { host, port }: { host: string; port: number }): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    throw listenError(error, { host, port });
  }
}

async function closeServer({ app, state }: EarshotServer, { drainMs, finishMs }: ServeOptions): Promise<void> {
  state.isClosing = true;
  await sleep(drainMs);
  const closing = app.close();
  const finished = new AbortController();
  const cut = sleep(finishMs, undefined, { signal: finished.signal }).then(
    () => app.server.closeAllConnections(),
    () => {},
  );
  await closing.finally(() => finished.abort());
  await cut;
}
