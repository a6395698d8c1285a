import { z } from 'zod';
import type { Detector } from '../detector.ts';
import type { EvidenceServices } from '../retrieval/retrieval.ts';
import { cascade, cascadeOptionsSchema } from './cascade.ts';
import { createDebateCouncil, debateCouncilOptionsSchema } from './debate/debate-council.ts';
import { createDebateSingle, debateSingleOptionsSchema } from './debate/debate-single.ts';
import { createDebateTeam, debateTeamOptionsSchema } from './debate/debate-team.ts';
import type { DetectorSettings } from './detector-settings.ts';
import { LocalDetector } from './local/local-detector.ts';
import { createS2mad, s2madOptionsSchema } from './s2mad/s2mad.ts';
import { createSinglePrompt, singlePromptOptionsSchema } from './single-prompt.ts';
import { zofiaOptionsSchema } from './zofia/options.ts';
import { createZofia } from './zofia/zofia.ts';

/** Options of the detectors that query language models for every prefix. */
const onModels = [
  singlePromptOptionsSchema,
  s2madOptionsSchema,
  debateSingleOptionsSchema,
  debateTeamOptionsSchema,
  debateCouncilOptionsSchema,
  zofiaOptionsSchema,
] as const;
const otherwise = z
  .discriminatedUnion('name', onModels)
  .describe('the other detector, as it would stand in a file alone');
/** The configuration of each detector that a file may describe, by its name. */
export const detectorSchema = z
  .discriminatedUnion('name', [...onModels, cascadeOptionsSchema(otherwise)])
  .describe('the detector, its models and its hyperparameters');
export type DetectorConfig = z.infer<typeof detectorSchema>;
export type DetectorConfigInput = z.input<typeof detectorSchema>;

/** Creates a detector. @throws InputError if the task does not fit, or an endpoint or a model is missing */
export async function createDetector(
  settings: Omit<DetectorSettings<DetectorConfig>, 'options'> & EvidenceServices & { readonly config: DetectorConfig },
): Promise<Detector> {
  const { config, env, retry, random, signal, ...shared } = settings;
  switch (config.name) {
    case 'single-prompt':
      return createSinglePrompt({ options: config, ...shared });
    case 's2mad':
      return createS2mad({ options: config, ...shared });
    case 'debate-single':
      return createDebateSingle({ options: config, ...shared });
    case 'debate-team':
      return createDebateTeam({ options: config, ...shared });
    case 'debate-council':
      return createDebateCouncil({ options: config, ...shared });
    case 'zofia':
      return createZofia({ options: config, ...shared, env, retry, random, signal });
    case 'cascade':
      return cascade({
        first: await LocalDetector.load({ path: config.first }),
        otherwise: await createDetector({ ...settings, config: config.otherwise }),
        confidence: config.confidence,
      });
  }
}
