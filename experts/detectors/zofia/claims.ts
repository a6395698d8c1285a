import { z } from 'zod';
import type { AskShared } from '../../asking/shared-questions.ts';
import type { TranscriptEntry } from '../../detector.ts';
import { promptLine, quotedEvidence } from '../../llm/prompt-text.ts';
import type { Evidence } from '../../retrieval/evidence.ts';
import {
  type Analysis,
  type AnalystInput,
  type AnalystSettings,
  asFound,
  askAnalyst,
  evidenceInWords,
  type Finding,
  listOf,
  pretended,
  round,
  sourcesOf,
} from './analysts.ts';

const claimsSchema = z.object({
  core: z.string().min(1).describe('the core claim'),
  subclaims: z.array(z.string().min(1)).describe('the claims that support it; may be empty'),
});
const verificationSchema = z.object({
  label: z.enum(['supports', 'refutes', 'not enough information']),
  reasoning: z.string(),
  evidence: z.array(z.string()).describe('quotations, word for word'),
});

interface Verification extends z.output<typeof verificationSchema> {
  readonly entry: Pick<TranscriptEntry, 'round' | 'model' | 'usage' | 'sources'>;
}

/** §4.1.3: extracts the claims during the web search, then verifies each of them separately. */
export async function claimVerification(settings: AnalystSettings, input: AnalystInput): Promise<Analysis> {
  const { askShared } = input;
  const { use } = settings.options;
  const [extracted, web] = await Promise.all([extraction(settings, input), searchWeb(settings, input)]);
  const { core, subclaims } = extracted.value;
  const claims = [core, ...subclaims];
  const verifications = await Promise.all(claims.map((q) => verification(settings, { q, web, askShared })));
  return {
    material: [
      ...asFound('web', use.web ? web : null),
      { ...extracted.entry, role: 'claim extractor', text: `Core claim: ${promptLine(core)}\n${listOf(subclaims)}` },
    ],
    findings: verifications.map((verified, index) => {
      const role = `claim verifier: ${index === 0 ? 'core claim' : `claim ${index + 1}`}`;
      return verifiedClaim({ role, claim: claims[index], verified });
    }),
  };
}

function verifiedClaim({ role, claim, verified }: { role: string; claim: string; verified: Verification }): Finding {
  const { label, reasoning, evidence, entry } = verified;
  const decided = [`Verdict: ${label}`, `Reasoning: ${promptLine(reasoning)}`];
  const quotations = evidence.map((quotation) => `Evidence: ${promptLine(quotation)}`);
  return {
    ...entry,
    role,
    text: [`Claim: ${promptLine(claim)}`, ...decided, ...quotations].join('\n'),
    inPrompt: [
      `[${role}]`,
      quotedEvidence('Claim', [claim]),
      ...decided,
      ...(evidence.length > 0 ? [quotedEvidence('Evidence', evidence)] : []),
    ].join('\n'),
  };
}

/** Eq. 8 */
function extraction(settings: AnalystSettings, { claim, askShared }: AnalystInput) {
  // A dry run pretends about as many claims as the paper counts (3.24), similar enough to the evidence to be verified.
  const excerpt = claim.text.slice(0, 200) || '(an empty claim)';
  return askAnalyst(settings, {
    part: 'claim-extraction',
    role: 'extractor',
    content: settings.prompts.render('extract', { news: quotedEvidence('The text', [claim.text]) }),
    schema: claimsSchema,
    dryRunValue: { core: excerpt, subclaims: [`Second claim: ${excerpt}`, `Third claim: ${excerpt}`] },
    shortestDryRunValue: { core: excerpt, subclaims: [] },
    askShared,
  });
}

/** Verifies a claim strictly by C_rel(q), the passages of I_web that are relevant to it (Eq. 9). */
async function verification(
  settings: AnalystSettings,
  options: { q: string; web: readonly Evidence[]; askShared: AskShared },
): Promise<Verification> {
  const { q, web, askShared } = options;
  const passages = await settings.retrieval.passagesFor(q, web);
  if (passages.length === 0)
    return {
      ...{ label: 'not enough information', reasoning: 'Nothing was found that speaks to it.', evidence: [] },
      entry: { round },
    };
  const shown = passages.map(({ text, source }) => evidenceInWords({ ...source, text }));
  const { value: verified, entry } = await askAnalyst(settings, {
    part: 'claim-verification',
    role: 'verifier',
    content: settings.prompts.render('verify', {
      claim: quotedEvidence('Claim', [q]),
      passages: quotedEvidence('Passages', shown),
    }),
    schema: verificationSchema,
    dryRunValue: { label: 'supports' as const, reasoning: pretended, evidence: [passages[0].text.slice(0, 100)] },
    askShared,
  });
  const evidence = verified.evidence.map((quotation) => checkQuotation({ quotation, passages: shown }));
  return { ...verified, evidence, entry: { ...entry, sources: sourcesOf(passages.map(({ source }) => source)) } };
}

/** Results of the web search as a finding, for debaters without verified claims. */
export async function webAsFound(settings: AnalystSettings, input: AnalystInput): Promise<Analysis> {
  const web = settings.options.use.web ? await searchWeb(settings, input) : null;
  return { material: [], findings: asFound('web', web) };
}

async function searchWeb(settings: AnalystSettings, input: AnalystInput): Promise<readonly Evidence[]> {
  if (!settings.options.use.web) return [];
  return settings.retrieval.fromWeb({
    ...input,
    coreClaim: async () => (await extraction(settings, input)).value.core,
  });
}

/** Keeps a quotation that a passage contains, apart from quotation marks and case; otherwise notes its removal. */
function checkQuotation(options: { quotation: string; passages: readonly string[] }): string {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[“”„]/g, '"')
      .replace(/[‘’]/g, "'")
      .replace(/^["'\s]+|["'\s.]+$/g, '')
      .replace(/\s+/g, ' ');
  const quotation = plain(options.quotation);
  const isFound = quotation !== '' && options.passages.some((passage) => plain(passage).includes(quotation));
  return isFound ? options.quotation : '(a quotation that stands in no passage was dropped)';
}
