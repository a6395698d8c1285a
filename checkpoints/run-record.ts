import { z } from 'zod';
import { provenanceSchema } from './provenance.ts';

export const runFactsSchema = z.object({
  seed: z.number().int(),
  backend: z.string().describe('the tensor backend, such as wasm'),
  device: z.string().describe('what the backend computes on, in words'),
  hashes: z
    .record(z.string(), z.string())
    .describe('of everything read that the config only names: data, embeddings, annotations'),
  startedAt: z.iso.datetime().optional().describe('now, unless the caller knows better'),
});

/** What the caller knows of a run and its config does not say. */
export type RunFacts = z.infer<typeof runFactsSchema>;

const sessionSchema = provenanceSchema.extend({
  backend: z.string(),
  device: z.string(),
  startedAt: z.iso.datetime(),
});

/** `run.json`: which program made the run, on what, from what; and the same of every process that went on with it. */
export const runRecordSchema = sessionSchema.extend({
  formatVersion: z.literal(1),
  seed: z.number().int(),
  hashes: z.record(z.string(), z.string()),
  resumed: z.array(sessionSchema),
});

export type RunRecord = z.infer<typeof runRecordSchema>;
