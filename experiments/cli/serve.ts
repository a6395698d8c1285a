import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import { Command, Option } from '@commander-js/extra-typings';
import { amount, type OptionsOf, port, positiveInteger, refuseOptions } from './option-values.ts';
import { auditOptions, budgetOf, budgetOptions, maxWaitMsOf, maxWaitOption, ofBudget } from './shared-options.ts';
import type { Terminal } from './terminal.ts';

/** Names of environment variables, for what other users of the machine must not see in a list of processes. */
const tokenVariable = 'EARSHOT_TOKEN';
const redisPasswordVariable = 'EARSHOT_REDIS_PASSWORD';

export function serveCommand(terminal: Terminal) {
  return serveOptions().action((bundles, options) => {
    if (options.detector === undefined)
      refuseOptions(options, ofBudget, 'is for language models; name them with --detector');
    return run(bundles, { ...options, terminal });
  });
}

function serveOptions() {
  return new Command('serve')
    .description('Serve policies over HTTP: threads post by post, or whole.')
    .argument('<policies...>', 'policies, or experiments or runs that have one; <name>=<folder> gives one another name')
    .option('--host <address>', 'address to listen at', '127.0.0.1')
    .option('--port <number>', 'port to listen at; 0 chooses a free one', port, 8600)
    .option('--no-auth', `serve other machines without a token, where something in front asks who is calling`)
    .option('--sessions <where>', 'where open threads are kept: memory, or redis://<host>:<port>/<number>', 'memory')
    .option('--max-threads <count>', 'open threads kept at the same time', positiveInteger, 10_000)
    .option('--idle <minutes>', 'a thread without requests for so long is forgotten', amount, 24 * 60)
    .option(
      '--detector <file>',
      "detector file (.yaml) of language models, queried once per thread in place of the bundle's own",
    )
    .option('--store <path>', "annotation store of that detector's judgements", 'annotations.sqlite')
    .addOption(budgetOptions.requests)
    .addOption(budgetOptions.tokens)
    .addOption(budgetOptions.money)
    .addOption(maxWaitOption)
    .addOption(auditOptions.share)
    .addOption(auditOptions.file)
    .addOption(auditOptions.seed)
    .addOption(auditOptions.queries)
    .option('--prediction-timeout <seconds>', 'how long a request waits for a detector', amount, 60)
    .option('--max-body <megabytes>', 'largest body of a request', amount, 4)
    .option('--request-timeout <seconds>', 'time in which a request must have arrived', amount, 30)
    .option(
      '--max-connections <count>',
      'connections open at the same time; further ones are refused',
      positiveInteger,
      4096,
    )
    .option('--drain <seconds>', 'time between the signal to stop and the last new connection', amount, 1)
    .option('--finish <seconds>', 'time for requests to finish after that', amount, 30)
    .option(
      '--with-parent',
      'end when the process that started the server has ended, or has closed the pipe at its standard input',
    )
    .addOption(new Option('--log-level <level>', 'what is logged').choices(['error', 'info', 'silent']).default('info'))
    .addHelpText(
      'after',
      `
The server answers programs on this machine. If the environment variable ${tokenVariable} holds a token, the server answers every
request with that token (authorization: Bearer …), at any --host. Health needs no token. ${redisPasswordVariable} holds the
password of Redis. Logs are lines of JSON on standard output and hold no texts of posts.

SIGHUP reloads the bundles without dropping a request; a new guarantee takes effect within seconds. With --audit, send the posts of a
thread after its decision, too, and "end": true with the last; a thread without posts for --idle minutes counts as ended.
/v1/guarantee shows whether the guarantee holds. After SIGTERM or Ctrl-C, the server finishes open requests. npx passes no SIGTERM
on: in scripts, start the file experiments/cli/earshot.mjs of the package with node, or give --with-parent.
/docs lists the requests, /openapi.json describes them for programs, and /metrics is for Prometheus.

Examples:
  earshot serve policy
  ${tokenVariable}=$(openssl rand -hex 32) earshot serve weibo=policies/weibo pheme=policies/pheme --host 0.0.0.0 --sessions redis://redis:6379`,
    );
}

/**
 * Threads whose state is cached. The state of others is made from their posts when the next post comes. A state is as
 * wide as the bundle's encoders: tens of kB per thread with the quickstart's student.
 */
const readingsKept = 2000;

/** Characters of undecided threads in memory: more than 10,000 long threads. */
const maxCharacters = 256 * 1024 * 1024;

interface ServeSettings extends OptionsOf<typeof serveOptions> {
  readonly terminal: Terminal;
}

async function run(bundles: readonly string[], options: ServeSettings): Promise<void> {
  const { terminal, host, port, sessions, maxThreads, detector, store, logLevel } = options;
  const { stdout, stderr } = terminal;
  const { modelSources } = await import('../serve/models.ts');
  const { accessAt } = await import('../serve/access.ts');
  const { serve } = await import('../serve/serve.ts');
  const models = modelSources(bundles);
  const access = accessAt({
    host,
    token: process.env[tokenVariable],
    variable: tokenVariable,
    noAuth: !options.auth,
  });
  const gone = new AbortController();
  const ending = AbortSignal.any([gone.signal, terminal.interruptSignal('finishing what was begun')]);
  const forgetParent = options.withParent ? watchParent(terminal, () => gone.abort()) : () => {};
  try {
    const serving = await serve({
      models,
      host,
      port,
      access,
      sessions,
      redisPassword: process.env[redisPasswordVariable],
      threadLimits: { maxThreads, idleMs: Math.round(options.idle * 60_000), maxCharacters },
      limits: {
        bodyBytes: Math.round(options.maxBody * 1e6),
        requestMs: Math.round(options.requestTimeout * 1000),
        maxConnections: options.maxConnections,
        maxReadings: Math.min(maxThreads, readingsKept),
        predictionMs: Math.round(options.predictionTimeout * 1000),
      },
      detector:
        detector === undefined
          ? undefined
          : { file: detector, store, budget: budgetOf(options), maxWaitMs: maxWaitMsOf(options) },
      audits:
        options.audit === undefined
          ? undefined
          : {
              share: options.audit,
              seed: options.auditSeed,
              file: options.audits,
              mostQueries: options.auditQueries,
            },
      drainMs: Math.round(options.drain * 1000),
      finishMs: Math.round(options.finish * 1000),
      log: stdout,
      logLevel,
    });
    stderr.write(
      `earshot: serving ${models.map(({ name }) => name).join(', ')} at ${serving.address}; ${serving.address}/docs shows what can be asked\n`,
    );
    const forget = terminal.onHangUp(() => void serving.reload());
    if (!ending.aborted) await once(ending, 'abort');
    forget();
    await serving.stop();
  } finally {
    forgetParent();
  }
}

/** How often the parent is looked for. */
const pollMs = 500;

/**
 * Calls `onGone` when the parent process has ended or the pipe at standard input is closed. A shell between the two may
 * outlive the parent. A terminal or /dev/null at standard input does not count.
 * @returns a function that ends the watch
 */
export function watchParent({ stdin }: Pick<Terminal, 'stdin'>, onGone: () => void): () => void {
  const { ppid } = process;
  // A process that has lost its parent gets another one.
  const timer = setInterval(() => {
    if (process.ppid !== ppid) onGone();
  }, pollMs).unref();
  const input = fstatSync(0);
  const isPipe = input.isFIFO() || input.isSocket();
  if (isPipe) stdin.once('close', onGone).once('end', onGone).once('error', onGone).resume();
  return () => {
    clearInterval(timer);
    if (isPipe) stdin.off('close', onGone).off('end', onGone).off('error', onGone).destroy();
  };
}
