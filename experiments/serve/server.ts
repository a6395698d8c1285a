import fastifySwagger from '@fastify/swagger';
import Fastify, { type FastifyBaseLogger, type FastifyError, LogController } from 'fastify';
import { createJsonSchemaTransform, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import packageJson from '../../package.json' with { type: 'json' };
import { type Access, hasToken, namesThisMachine } from './access.ts';
import { type GrowingThreads, growingThreads } from './growing-threads.ts';
import { HttpProblem, jsonBodies, problemOf } from './http-problem.ts';
import type { Models } from './models.ts';
import { operationRoutes, type ServerMetrics, type ServerState, serverMetrics } from './operation-routes.ts';
import type { AuditSettings } from './thread-audits.ts';
import { decideRoutes, threadRoutes } from './thread-routes.ts';
import type { ThreadStore } from './thread-store.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    isOpen?: boolean;
  }
}

export interface ServerLimits {
  readonly bodyBytes: number;
  /** Time limit for the arrival of a request. */
  readonly requestMs: number;
  readonly maxConnections: number;
  /** Threads whose reading is cached; others are read again from their posts. */
  readonly maxReadings: number;
  /** How long a request waits for a detector. */
  readonly predictionMs: number;
}

export interface ServerOptions {
  readonly models: Models;
  readonly store: ThreadStore;
  readonly access: Access;
  readonly limits: ServerLimits;
  readonly logger: FastifyBaseLogger;
  /** Undefined without audits. */
  readonly audits?: AuditSettings | undefined;
  /** Milliseconds until an open thread is left out of the guarantee's check. */
  readonly quietMs?: number;
  /** The clock for deadlines of growing threads. */
  readonly now?: (() => Date) | undefined;
}

/** Creates the server without listening. */
export async function createServer(options: ServerOptions) {
  const { models, store, access, limits, logger, quietMs = Number.POSITIVE_INFINITY } = options;
  const { now = () => new Date() } = options;
  const state: ServerState = { isClosing: false };
  const audits =
    options.audits === undefined
      ? null
      : await (await import('./thread-audits.ts')).threadAudits(options.audits, { store, quietMs, now });
  const metrics = serverMetrics({ models, store, audits });
  const threads = growingThreads({ ...limits, store, now, audits });
  const app = bareServer({ limits, logger });
  const refuseOtherMethods = otherMethods(app);
  addHooks(app, { access, logger, metrics, state });
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Earshot',
        description: 'Decides, post by post, when enough of a thread was seen, and what it is.',
        version: packageJson.version,
      },
      ...(access.kind === 'token' && {
        components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
        security: [{ token: [] }],
      }),
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig: { unrepresentable: 'any' } }),
  });
  await app.register(operationRoutes({ models, store, metrics, audits, state }));
  await app.register(threadRoutes({ models, threads, metrics }));
  await app.register(decideRoutes({ models }));
  refuseOtherMethods();
  await app.ready();
  return { app, state, endQuietThreads: () => endQuietThreads({ models, store, threads, logger }) };
}

/** A server without routes: its limits, and its answers to requests that cannot be routed. */
function bareServer({ limits, logger }: Pick<ServerOptions, 'limits' | 'logger'>) {
  const app = Fastify({
    loggerInstance: logger,
    // One line a request is written below: of route, status and time, and of nothing that the request holds.
    logController: new LogController({ disableRequestLogging: true }),
    // No logger for each request: making one takes longer than most decisions.
    childLoggerFactory: (logger) => logger,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestMs,
    http: { headersTimeout: limits.requestMs, connectionsCheckingInterval: Math.min(1000, limits.requestMs) },
    routerOptions: { maxParamLength: 4096 },
    // Requests that arrive while the others are finished are answered, too; see `serve.ts`.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors(error, _request, reply) {
      // An address that cannot be decoded: no route, so no hooks and no serializers.
      const { statusCode, message, field } = problemOf(error, { mostBytes: limits.bodyBytes });
      reply.hijack();
      reply.raw
        .writeHead(statusCode, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: message, field }));
    },
    clientErrorHandler(error, socket) {
      // Half a request, or what is no HTTP at all: there is no request to answer, only a socket.
      const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
      const isLong = error.code === 'HPE_HEADER_OVERFLOW';
      const status = isLate
        ? '408 Request Timeout'
        : isLong
          ? '431 Request Header Fields Too Large'
          : '400 Bad Request';
      const said = isLate
        ? `the request did not arrive within ${limits.requestMs / 1000} s (--request-timeout)`
        : 'this is no HTTP request that can be read';
      logger.info({ status: Number.parseInt(status, 10), code: error.code }, 'unreadable request');
      if (!socket.writable) return void socket.destroy();
      const body = JSON.stringify({ error: said, field: null });
      socket.end(
        `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    },
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = limits.maxConnections;
  jsonBodies(app);
  app.setValidatorCompiler(validatorCompiler);
  // What goes out is typed here, and held against the OpenAPI document by the tests: checking each answer would cost as much as
  // deciding it.
  app.setSerializerCompiler(() => JSON.stringify);
  return app;
}

type App = ReturnType<typeof bareServer>;

/** Checks access, sets common headers, and logs and counts every answer. */
function addHooks(
  app: App,
  options: Pick<ServerOptions, 'access' | 'logger'> & { metrics: ServerMetrics; state: ServerState },
): void {
  const { access, logger, metrics, state } = options;
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isOpen === true) return;
    if (access.kind === 'local' && !namesThisMachine(request.headers.host))
      throw new HttpProblem(
        403,
        'this server answers programs on its own machine, under its name localhost; start it with a token for others',
        { field: 'host' },
      );
    if (access.kind !== 'token' || hasToken(request.headers.authorization, access.token)) return;
    reply.header('www-authenticate', 'Bearer');
    throw new HttpProblem(401, 'the bearer token is missing or wrong', { field: 'authorization' });
  });
  // These two run at every request, so they are not asynchronous.
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff');
    if (state.isClosing) reply.header('connection', 'close');
    done(null, payload);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const route = request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown');
    const { statusCode: status, elapsedTime } = reply;
    metrics.countRequest(elapsedTime / 1000, { method, route, status });
    logger.info({ reqId: request.id, method, route, status, ms: Math.round(elapsedTime * 1000) / 1000 }, 'answered');
    done();
  });
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = problemOf(error, { mostBytes: request.routeOptions.bodyLimit });
    // The message of a defect may quote what it was about; its name and place do not.
    if (problem.statusCode === 500)
      logger.error({ reqId: request.id, error: error.name, at: placesOf(error) }, 'defect');
    return answerProblem(reply, problem);
  });
  app.setNotFoundHandler((_request, reply) =>
    answerProblem(
      reply,
      new HttpProblem(
        404,
        'there is nothing at this address; /docs lists what there is, and /openapi.json the same for programs',
      ),
    ),
  );
}

/** Answers methods that an address does not support. Called before the first route; the result is called after the last. */
function otherMethods(app: App): () => void {
  const methodsOf = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => {
    methodsOf.set(url, [...(methodsOf.get(url) ?? []), ...[method].flat()]);
  });
  return () => {
    for (const [url, methods] of [...methodsOf])
      app.route({
        url,
        method: app.supportedMethods.filter((method) => !methods.includes(method)),
        schema: { hide: true },
        // Before the body is looked at.
        onRequest: async ({ method }, reply) => {
          reply.header('allow', methods.join(', '));
          throw new HttpProblem(405, `${method} is not for this address, which takes ${methods.join(', ')}`);
        },
        handler: async () => {},
      });
  };
}

/** Closes the audits of quiet threads. The next call repeats failed attempts. */
async function endQuietThreads(
  options: Pick<ServerOptions, 'models' | 'store' | 'logger'> & { threads: GrowingThreads },
): Promise<void> {
  const { models, store, threads, logger } = options;
  try {
    for (const key of await store.quietAudits()) {
      const end = key.indexOf('/');
      const name = key.slice(0, end);
      if (models.names.includes(name)) await threads.endQuiet(models.get(name), key.slice(end + 1));
    }
  } catch (error) {
    logger.error({ error: error instanceof Error ? error.message : String(error) }, 'an audit could not be closed');
  }
}

export type EarshotServer = Awaited<ReturnType<typeof createServer>>;

function answerProblem(
  reply: { code(status: number): { type(type: string): { send(payload: unknown): unknown } } },
  { statusCode, message, field }: HttpProblem,
) {
  return reply
    .code(statusCode)
    .type('application/json')
    .send(JSON.stringify({ error: message, field }));
}

function placesOf({ stack = '' }: Error): string[] {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8)
    .map((line) => line.trim());
}
