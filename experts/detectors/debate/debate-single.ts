import { z } from 'zod';
import type { Detector, TranscriptEntry } from '../../detector.ts';
import { dialogueOf } from '../../llm/prompt-text.ts';
import type { DetectorSettings } from '../detector-settings.ts';
import { endpointsByRole, endpointsSchema, modelSchema, speakerOptions } from '../models-by-role.ts';
import { loadPrompts, promptsSchema } from '../prompt-templates.ts';
import { speak } from '../session.ts';
import { askForSide, type DebateSide } from './debate-question.ts';
import { type DebateOutcome, type DebateSetting, debatingDetector } from './debating-detector.ts';

/*
 * Single debate (TurQUaz at CheckThat! 2025, §3.1, Algorithm 1; prompts of A.1 and A.3 in meaning).
 *
 *   P, O       proponent and opponent     a_i, b_i   what they say in round i; 0 is the opening
 *   J          judge                      R          rounds of rebuttals, 3
 *
 * Differences from the paper:
 *   - Our text of the paper lost parts of A.2's descriptions of categories. The task `checkthat4a-guided` rephrases the
 *     rest: which links count, and what only sounds like science.
 *   - The rules about tweets and science in the paper's prompts belong to its task. Here the question and the categories
 *     come from the task file, and so does "category 2 implies 3". The few-shot examples of A.2 are left out.
 *   - A task of labels is one debate with as many sides as it has labels. The proponent argues for the last label; each
 *     other label has an opponent, and opponents rebut in turn. With two labels this is the paper's debate.
 *   - In a prompt the posts come first and the role after them, so that the prompts of all roles and of growing prefixes
 *     begin alike; the paper puts the role into a system message.
 *   - The judge explains its decision before stating it. In Table 3 it also sums up between rounds; Algorithm 1 does not
 *     do that, and neither do we.
 */

type Turn = 'opening' | 'rebuttal' | 'closing';

export const debateSingleOptionsSchema = z.strictObject({
  name: z.literal('debate-single').describe('two models argue for opposing sides, a third decides'),
  endpoints: endpointsSchema,
  prompts: promptsSchema,
  models: z
    .strictObject({
      proponent: modelSchema.describe('argues for yes, or for the last label; plays every role that is not given, too'),
      opponent: modelSchema.optional().describe('argues against it, or for each other label'),
      judge: modelSchema.optional().describe('decides'),
    })
    .describe('an endpoint, or the name of one, for each role'),
  rounds: z.int().min(0).max(20).default(3).describe('rounds of rebuttals between opening and closing statements'),
});
export type DebateSingleOptions = z.infer<typeof debateSingleOptionsSchema>;

export function createDebateSingle({ options, task, service }: DetectorSettings<DebateSingleOptions>): Detector {
  const prompts = loadPrompts({ detector: 'debate-single', path: options.prompts });
  const { models, rounds } = options;
  const endpointFor = endpointsByRole({ models, byDefault: 'proponent', endpoints: options.endpoints });

  async function debate({ question, session, about, wording }: DebateSetting): Promise<DebateOutcome> {
    const { sides } = question;
    const transcript: TranscriptEntry[] = [];
    const argue = (side: DebateSide, { turn, round }: { turn: Turn; round: string }) => {
      const content = prompts.render('debater', {
        about,
        asked: wording,
        role: side.role,
        position: side.position,
        transcript: dialogueOf(transcript),
        turn: prompts.render(`${turn}-turn`),
      });
      const endpoint = endpointFor(side === sides[0] ? 'proponent' : 'opponent');
      return speak({ role: side.role, round, session, endpoint, messages: [{ role: 'user', content }] });
    };
    /** Each side makes a statement that does not respond to the others. */
    const allState = async (turn: Turn) => {
      const round = turn === 'opening' ? 'Opening statements' : 'Closing statements';
      transcript.push(...(await Promise.all(sides.map((side) => argue(side, { turn, round })))));
    };

    // Lines 5–7: opening statements.
    await allState('opening');

    // Lines 8–12: the proponent rebuts b_{i−1}, the opponent a_i.
    for (let round = 1; round <= rounds; round++)
      for (const side of sides) transcript.push(await argue(side, { turn: 'rebuttal', round: `Round ${round}` }));

    // Lines 13–15: closing statements.
    await allState('closing');

    // Lines 16–17: the judge's decision.
    const content = prompts.render('judge', { about, asked: wording, transcript: dialogueOf(transcript) });
    const endpoint = endpointFor('judge');
    const speaker = { role: 'judge', round: 'Decision', as: 'Verdict' } as const;
    const { entry, ...decision } = await askForSide({ speaker, session, endpoint, content, question });
    return { ...decision, transcript: [...transcript, entry] };
  }

  return debatingDetector({
    name: 'debate-single',
    // 3: a verdict is asked for as a field of a JSON schema or a last line that is the verdict alone.
    version: '3',
    options: {
      promptVersion: prompts.version,
      rounds,
      proponent: speakerOptions(endpointFor('proponent')),
      opponent: speakerOptions(endpointFor('opponent')),
      judge: speakerOptions(endpointFor('judge')),
    },
    task,
    service,
    debate,
  });
}
