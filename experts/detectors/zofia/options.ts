import { z } from 'zod';
import type { Prefix } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { cutoffOf } from '../../retrieval/evidence.ts';
import { retrievalSchema } from '../../retrieval/retrieval.ts';
import type { JudgingTask } from '../../tasks/task-file.ts';
import { endpointsSchema, modelSchema } from '../models-by-role.ts';
import { promptsSchema } from '../prompt-templates.ts';

const sideSchema = z.string().min(1).optional();

export const zofiaOptionsSchema = z.strictObject({
  name: z
    .literal('zofia')
    .describe(
      'searches evidence by the entities of a claim, analyses, verifies, debates until the judge decides (ZoFia)',
    ),
  endpoints: endpointsSchema,
  prompts: promptsSchema,
  models: z
    .strictObject({
      judge: modelSchema.describe('decides; plays every role that is not given, too'),
      linguist: modelSchema.optional().describe('examines the language'),
      expert: modelSchema.optional().describe('chooses the field and examines as its expert'),
      recognizer: modelSchema
        .optional()
        .describe('names the entities, if retrieval.entities leaves that to a language model'),
      extractor: modelSchema.optional().describe('names the claims'),
      verifier: modelSchema.optional().describe('verifies a claim by passages from the web'),
      pro: modelSchema.optional().describe('debater for the real side'),
      con: modelSchema.optional().describe('debater for the fake side'),
    })
    .describe('an endpoint, or the name of one, for each role'),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullable()
    .default(0)
    .describe("temperature of every call, instead of the endpoints' own; null: not sent"),
  maxRounds: z.int().min(1).max(20).default(5).describe('rounds of debate before the evidence counts as insufficient'),
  use: z
    .strictObject({
      web: z.boolean().default(true).describe('search of the open web'),
      wikipedia: z.boolean().default(true).describe('lookup in Wikipedia'),
      linguist: z.boolean().default(true).describe('linguist analysis'),
      expert: z
        .boolean()
        .default(true)
        .describe("expert analysis; without it the debate is given Wikipedia's text as it was found"),
      claims: z
        .boolean()
        .default(true)
        .describe("claim extraction and verification; without them the debate is given the web's text as it was found"),
      debate: z
        .boolean()
        .default(true)
        .describe('debate; without it the judge decides from the evidence straight away'),
    })
    .prefault({})
    .describe('ablations (Table 2): what is switched on'),
  sides: z
    .strictObject({
      real: sideSchema.describe("the label that the pro side argues for; default: the task's first of two"),
      fake: sideSchema.describe("the label that the con side argues for; default: the task's second of two"),
    })
    .prefault({})
    .describe('which labels the two sides argue for'),
  insufficientLabel: z
    .string()
    .nullable()
    .default(null)
    .describe('label of "insufficient" judgements, such as unverified; null: none, which scores as wrong'),
  retrieval: retrievalSchema,
});
export type ZofiaOptions = z.output<typeof zofiaOptionsSchema>;

/** The input of ZoFia for annotation keys: the texts and the last day of evidence. */
export function zofiaInputOf(options: Pick<ZofiaOptions, 'retrieval' | 'use'>): (prefix: Prefix) => unknown {
  const { web, wikipedia } = options.use;
  return ({ posts }) => {
    const day = web || wikipedia ? cutoffOf(posts[0], options.retrieval.cutoff) : null;
    return [{ cutoff: day }, ...posts.map(({ text }) => text)];
  };
}

export type ZofiaRole = keyof ZofiaOptions['models'];

/** A label that a debater argues for. */
export interface ZofiaSide {
  readonly name: string;
  readonly meaning: string;
}

export interface ZofiaSides {
  readonly real: ZofiaSide;
  readonly fake: ZofiaSide;
}

/**
 * The two debated labels of a task: those in the options, or those of a task with exactly two labels, the one for real
 * news first.
 * @throws InputError if the task has no two such labels
 */
export function sidesOf(settings: {
  options: {
    readonly sides: { readonly real?: string; readonly fake?: string | undefined };
    readonly insufficientLabel: string | null;
  };
  task: JudgingTask;
}): ZofiaSides {
  const { options, task } = settings;
  const { labels } = task;
  if (labels === undefined)
    throw new InputError(
      `zofia debates between two labels; the task ${task.name} has categories, which debate-single, debate-team, debate-council and single-prompt can judge`,
    );
  const names = labels.map(({ name }) => name).join(', ');
  const sideOf = (side: 'real' | 'fake', byDefault: number): ZofiaSide => {
    const labelName = options.sides[side] ?? (labels.length === 2 ? labels[byDefault].name : undefined);
    const label = labels.find(({ name }) => name === labelName);
    if (label === undefined)
      throw new InputError(
        labelName === undefined
          ? `the task ${task.name} has ${labels.length} labels (${names}), but zofia debates between two; name them in sides.real and sides.fake`
          : `sides.${side} is ${JSON.stringify(labelName)}, which is no label of the task ${task.name} (${names})`,
      );
    return { name: label.name, meaning: label.description };
  };
  const sides = { real: sideOf('real', 0), fake: sideOf('fake', 1) };
  if (sides.real.name === sides.fake.name)
    throw new InputError(`sides.real and sides.fake are both ${JSON.stringify(sides.real.name)}; name two labels`);
  if (options.insufficientLabel !== null && !labels.some(({ name }) => name === options.insufficientLabel))
    throw new InputError(
      `insufficientLabel is ${JSON.stringify(options.insufficientLabel)}, which is no label of the task ${task.name} (${names})`,
    );
  return sides;
}

/** Both sides in words, for the analysts and the judge. */
export function bothSides({ real, fake }: ZofiaSides): string {
  return [real, fake].map(({ name, meaning }) => `- ${name}: ${meaning}`).join('\n');
}
