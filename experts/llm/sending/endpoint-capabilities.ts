import { setTimeout as delay } from 'node:timers/promises';
import { canonicalJson } from '../../../src/content-hash.ts';
import type { RequestForm } from '../answers/request-form.ts';
import type { CallFailure } from '../call-failure.ts';
import type { Endpoint } from '../endpoint.ts';

/*
 * Endpoints of the same protocol refuse different parts of it: a temperature, a seed, the name of the length limit,
 * log-probabilities, a JSON schema, an answer without a stream. A refused request is sent again without that part, and
 * all later requests of this process to the same model at the same address leave it out.
 */

/** The form that an endpoint accepts instead of what it refused. */
export type Refusals = Partial<RequestForm>;

/** How long the first request to an endpoint delays the others. A refusal comes at once, an answer may not. */
const TRIAL_MS = 2000;

/** The parts of the protocol that one model at one address accepts, as far as its answers have shown. */
export function endpointCapabilities({ name, model }: Endpoint, onNote: (line: string) => void) {
  let refusals: Refusals = {};
  /** Refusals that requests without an answer yet suggest. */
  let suspected: Refusals = {};
  /** Whether it answered a request with a JSON schema in this process. */
  let hasTakenSchema = false;
  const trials = new Map<string, Promise<unknown>>();

  /** The part of a form that the endpoint is known to accept. */
  function allowed(form: RequestForm): RequestForm {
    return withoutRefused(form, { ...suspected, ...refusals });
  }

  /**
   * Sends a request. While the first request with these parts is in progress, later ones wait for a moment, so that
   * they do not all pay for the same refusal. While an endpoint only fails, requests run one at a time to find out
   * whether it recovered.
   */
  async function afterTrial<T>(
    options: { form: RequestForm; signal: AbortSignal | null; isFailing: () => boolean },
    send: () => Promise<T>,
  ): Promise<T> {
    const { form, signal, isFailing } = options;
    const key = JSON.stringify({ ...allowed(form), topLogprobs: null });
    for (let trial = trials.get(key); trial !== undefined; trial = trials.get(key)) {
      await trial;
      signal?.throwIfAborted();
      if (trials.get(key) === trial) return send();
    }
    const sent = send();
    const settled = new AbortController();
    const ended = sent
      .catch(() => {
        if (isFailing()) trials.delete(key);
      })
      .finally(() => settled.abort());
    const tooLong = delay(TRIAL_MS, undefined, { signal: settled.signal, ref: false })
      .then(() => (isFailing() ? ended : undefined))
      .catch(() => {});
    const aborted = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    trials.set(key, Promise.race([ended, tooLong, aborted]));
    return sent;
  }

  /**
   * Marks the refused parts while a request is sent again without them, so that later requests to a slow endpoint do
   * not pay for the same refusal. Null ends the suspicion.
   */
  function suspect(refused: Refusals | null): void {
    suspected = refused === null ? {} : { ...suspected, ...refused };
  }

  /** Stores refusals and reports them once, after a request without the refused parts was answered. */
  function learn({ form, refused }: { form: RequestForm; refused: Refusals }): void {
    if (form.json === 'schema') hasTakenSchema = true;
    const before = canonicalJson(refusals);
    refusals = { ...refusals, ...refused };
    if (canonicalJson(refusals) !== before)
      onNote(`endpoint ${name} (model ${model}) ${inWords(refused)}; this is remembered for this run`);
  }

  return { allowed, afterTrial, suspect, learn, hasTakenSchema: () => hasTakenSchema };
}

export type EndpointCapabilities = ReturnType<typeof endpointCapabilities>;

/** The rest of a form without the refused parts. */
export function withoutRefused(form: RequestForm, refused: Refusals): RequestForm {
  const { json = form.json, topLogprobs = form.topLogprobs } = refused;
  return {
    ...form,
    ...refused,
    topLogprobs: Math.min(form.topLogprobs, topLogprobs),
    json: form.json === 'none' ? 'none' : json,
  };
}

const REFUSING = [400, 403, 404, 415, 422, 500, 501];
const UNSUPPORTED =
  /support|allow|permit|only|must be|fixed|unknown|unrecogni[sz]ed|unexpected|deprecated|extra|invalid|forbid|available/i;
const OUT_OF_RANGE =
  /between|range|<=|≤|less than|at most|greater|maximum|max allowed|exceed|up to|too (?:large|high)/i;

/**
 * The parts to leave out after a refusal that names none: the request for JSON. Null if that is left out already, or
 * the refusal is about something else. Some servers fail on a JSON schema with status 500, attempt after attempt, but
 * not if one accepted a schema before. It is a guess: the failure may have been temporary.
 */
export function weakerForm(options: {
  form: RequestForm;
  failure: CallFailure;
  endpoint: Endpoint;
  hasTakenSchema: boolean;
}): Refusals | null {
  const { form, failure, endpoint, hasTakenSchema } = options;
  if (failure.status === 500 && form.json !== 'none') return hasTakenSchema ? null : { json: 'none' };
  // The user's temperature, effort or length is wrong, which JSON does not change.
  if (failure.kind !== 'bad-request' || /temperature|max_(?:completion_)?tokens|reasoning/i.test(failure.message))
    return null;
  if (/logprob/i.test(failure.message) && endpoint.logprobs === 'on') return null;
  return lessJson(form);
}

/** The part of the form that a refusal names. Repeating the same request is pointless then. */
export function namedRefusal(options: {
  form: RequestForm;
  failure: CallFailure;
  endpoint: Endpoint;
}): Refusals | null {
  const { form, failure, endpoint } = options;
  const message = failure.message.replace(/^\d{3} /, '');
  if (failure.kind === 'context-length' || failure.status === null || !REFUSING.includes(failure.status)) return null;
  if (form.logprobs && /logprob/i.test(message) && endpoint.logprobs === 'auto') {
    const fewer = fewerAlternatives(message, form.topLogprobs);
    return fewer === null ? { logprobs: false } : { topLogprobs: fewer };
  }
  const isRefused = (name: RegExp) => name.test(message) && UNSUPPORTED.test(message) && !OUT_OF_RANGE.test(message);
  if (isRefused(/max_completion_tokens/i))
    return { tokensField: form.tokensField === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens' };
  if (form.temperature && isRefused(/temperature/i)) return { temperature: false };
  if (form.seed && isRefused(/\bseed\b/i)) return { seed: false };
  if (!form.stream && /\bstream/i.test(message) && UNSUPPORTED.test(message)) return { stream: true };
  if (
    form.json !== 'none' &&
    /response_format|json_schema|json_object|json schema|structured output|json mode/i.test(message)
  )
    return lessJson(form);
  return null;
}

/** The largest number of alternatives that a refusal names, if it is below the requested one. */
function fewerAlternatives(message: string, requested: number): number | null {
  if (!OUT_OF_RANGE.test(message)) return null;
  const numbers = [...message.matchAll(/(?<![\w.])\d+(?![\w]|\.\d)/g)]
    .map(Number)
    .filter((each) => each >= 1 && each < requested);
  return numbers.length === 0 ? null : Math.max(...numbers);
}

function lessJson(form: RequestForm): Refusals | null {
  if (form.json === 'schema') return { json: 'object' };
  return form.json === 'object' ? { json: 'none' } : null;
}

function inWords({ logprobs, topLogprobs, json, temperature, seed, tokensField, stream }: Refusals): string {
  return [
    ...(stream === undefined ? [] : ['answers in streams only']),
    ...(seed === false ? ['takes no seed, so its answers may not repeat'] : []),
    ...(temperature === false ? ['takes no temperature, so it answers at its own'] : []),
    ...(tokensField === undefined ? [] : [`wants the length limit as ${tokensField}`]),
    ...(topLogprobs === undefined ? [] : [`gives at most ${topLogprobs} alternatives a token`]),
    ...(logprobs === false ? ['gives no log-probabilities'] : []),
    ...(json === undefined ? [] : [json === 'none' ? 'knows no JSON mode' : 'takes no JSON schema']),
  ].join(', ');
}
