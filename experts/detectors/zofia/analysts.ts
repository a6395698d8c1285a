import { z } from 'zod';
import { type Analysis, askAnalyst, type Bench, listOf, pretended, type Reading } from './analysis.ts';
import { linguisticDimensions, prompts } from './prompts.ts';
import { bothSides } from './sides.ts';

/** §4.1.1: five sessions that know nothing of one another. */
export async function linguist(bench: Bench, { news, askOnce }: Reading): Promise<Analysis> {
  const { real, fake } = bench.sides;
  const schema = z.object({ analysis: z.string(), verdict: z.enum([real.name, fake.name]) });
  const sessions = linguisticDimensions.map(async (dimension) => {
    const { analysis, verdict } = await askAnalyst(bench, {
      part: 'linguist',
      role: 'linguist',
      content: prompts.linguist({ dimension, news, sides: bothSides(bench.sides) }),
      schema,
      dryRunValue: { analysis: pretended, verdict: real.name },
      askOnce,
    });
    return { role: `linguist: ${dimension.name}`, text: `${analysis}\nPoints to: ${verdict}` };
  });
  return { material: [], findings: await Promise.all(sessions) };
}

const triageSchema = z.object({ domain: z.string().min(1), expert: z.string().min(1).describe('a profession') });

/** §4.1.2: the field of the news, then an examination by its expert, who has Wikipedia at hand. */
export async function expert(bench: Bench, reading: Reading): Promise<Analysis> {
  const { news, askOnce } = reading;
  const { real, fake } = bench.sides;
  const [{ domain, expert }, wikipedia] = await Promise.all([
    askAnalyst(bench, {
      part: 'expert-triage',
      role: 'expert',
      content: prompts.triage({ news }),
      schema: triageSchema,
      dryRunValue: { domain: 'Politics', expert: 'Political scientist' },
      askOnce,
    }),
    wikipediaAsFound(bench, reading),
  ]);
  const { knowledge, logic, verdict } = await askAnalyst(bench, {
    part: 'expert',
    role: 'expert',
    content: prompts.expert({
      expert,
      domain,
      news,
      wikipedia: wikipedia.findings[0]?.text ?? listOf([]),
      sides: bothSides(bench.sides),
    }),
    schema: z.object({ knowledge: z.string(), logic: z.string(), verdict: z.enum([real.name, fake.name]) }),
    dryRunValue: { knowledge: pretended, logic: pretended, verdict: real.name },
    askOnce,
  });
  const text = `Knowledge: ${knowledge}\nLogic: ${logic}\nPoints to: ${verdict}`;
  return {
    material: [...wikipedia.findings, { role: 'expert triage', text: `${domain}: ${expert}` }],
    findings: [{ role: `expert: ${expert}`, text }],
  };
}

/** What Wikipedia says of the keywords. An article's title is today's and may tell the outcome: its text names it, too. */
export async function wikipediaAsFound({ options, retrieval }: Bench, reading: Reading): Promise<Analysis> {
  if (!options.use.wikipedia) return { material: [], findings: [] };
  const articles = await retrieval.fromWikipedia(reading);
  return { material: [], findings: [{ role: 'wikipedia', text: listOf(articles.map(({ text }) => text)) }] };
}
