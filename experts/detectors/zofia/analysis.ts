import type { z } from 'zod';
import type { Post } from '../../../src/data/thread.ts';
import type { ChatService } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { askModel } from '../../retrieval/ask-model.ts';
import type { AskOnce } from '../../retrieval/ask-once.ts';
import type { Retrieval } from '../../retrieval/retrieval.ts';
import { speakerOptions } from '../models-by-role.ts';
import type { TranscriptEntry } from '../transcript.ts';
import type { ZofiaOptions, ZofiaRole } from './options.ts';
import { PROMPT_VERSION } from './prompts.ts';
import type { Sides } from './sides.ts';

/** Raised with every change of the detector or its parts that changes a judgement. */
export const VERSION = '2';

/** What the analysts of all judgements share. */
export interface Bench {
  readonly options: ZofiaOptions;
  readonly endpoints: Readonly<Record<ZofiaRole, Endpoint>>;
  /** Not that of one judgement: others wait for the same answers, and must get them if that one fails. */
  readonly service: ChatService;
  readonly sides: Sides;
  readonly retrieval: Retrieval;
}

/** What they read of one prefix. */
export interface Reading {
  /** T */
  readonly news: string;
  readonly claim: Post;
  readonly askOnce: AskOnce;
}

/** One analyst's part of the evidence pool. */
export interface Analysis {
  /** What it was made from. The debaters do not see it. */
  readonly material: readonly TranscriptEntry[];
  readonly findings: readonly TranscriptEntry[];
}

/** As long as a typical analysis. */
export const pretended = 'This is one of the sentences that an analysis of a text consists of. '.repeat(4).trim();

/** An analyst answers from what it is shown alone. */
export function askAnalyst<T>(
  bench: Bench,
  question: {
    part: string;
    role: ZofiaRole;
    content: string;
    schema: z.ZodType<T>;
    dryRunValue: T;
    askOnce: AskOnce;
  },
): Promise<T> {
  const { part, role, ...asked } = question;
  const endpoint = bench.endpoints[role];
  const model = { service: bench.service, endpoint, options: speakerOptions(endpoint) };
  return askModel({ model, part: `zofia/${part}`, version: VERSION, promptVersion: PROMPT_VERSION, ...asked });
}

export function listOf(items: readonly string[]): string {
  return items.length === 0 ? '(none)' : items.map((item) => `- ${item.replace(/\s+/g, ' ')}`).join('\n');
}
