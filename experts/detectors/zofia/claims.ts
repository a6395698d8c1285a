import { z } from 'zod';
import type { AskOnce } from '../../retrieval/ask-once.ts';
import type { Evidence } from '../../retrieval/evidence.ts';
import { checkedQuotation } from '../quotation.ts';
import type { TranscriptEntry } from '../transcript.ts';
import { type Analysis, askAnalyst, type Bench, listOf, pretended, type Reading } from './analysis.ts';
import { prompts } from './prompts.ts';

const claimsSchema = z.object({
  core: z.string().min(1).describe('the core claim'),
  subclaims: z.array(z.string().min(1)).describe('the claims that support it; may be empty'),
});
const verificationSchema = z.object({
  label: z.enum(['supports', 'refutes', 'not enough information']),
  reasoning: z.string(),
  evidence: z.array(z.string()).describe('quotations, word for word'),
});
type Verification = z.output<typeof verificationSchema>;

/** §4.1.3: extract the claims while the web is searched, then verify each on its own. */
export async function claimVerification(bench: Bench, reading: Reading): Promise<Analysis> {
  const { askOnce } = reading;
  const { use, maxSubclaims } = bench.options;
  const [{ core, subclaims }, web] = await Promise.all([extraction(bench, reading), searched(bench, reading)]);
  const claims = [core, ...subclaims.slice(0, maxSubclaims ?? undefined)];
  const verifications = await Promise.all(claims.map((q) => verification(bench, { q, web, askOnce })));
  return {
    material: [
      ...(use.web ? [asEntry(web)] : []),
      { role: 'claim extractor', text: `Core claim: ${core}\n${listOf(subclaims)}` },
    ],
    findings: verifications.map(({ label, reasoning, evidence }, index) => ({
      role: `claim verifier: ${index === 0 ? 'core claim' : `claim ${index + 1}`}`,
      text: [
        `Claim: ${claims[index]}`,
        `Verdict: ${label}`,
        `Reasoning: ${reasoning}`,
        ...evidence.map((quotation) => `Evidence: ${quotation}`),
      ].join('\n'),
    })),
  };
}

/** Eq. 8 */
function extraction(bench: Bench, { news, askOnce }: Reading): Promise<z.output<typeof claimsSchema>> {
  // About as many claims as the paper counts (3.24), like enough to the evidence that they will be verified.
  const excerpt = news.slice(0, 200);
  return askAnalyst(bench, {
    part: 'claim-extraction',
    role: 'extractor',
    content: prompts.extract({ news }),
    schema: claimsSchema,
    dryRunValue: { core: excerpt, subclaims: [`Second claim: ${excerpt}`, `Third claim: ${excerpt}`] },
    askOnce,
  });
}

/** Strictly by C_rel(q), the passages of I_web that speak to it (Eq. 9). */
async function verification(
  bench: Bench,
  options: { q: string; web: readonly Evidence[]; askOnce: AskOnce },
): Promise<Verification> {
  const { q, web, askOnce } = options;
  const passages = await bench.retrieval.passagesFor(q, web);
  if (passages.length === 0)
    return { label: 'not enough information', reasoning: 'Nothing was found that speaks to it.', evidence: [] };
  const shown = passages.map(({ text, source }) => described({ ...source, text }));
  const verified = await askAnalyst(bench, {
    part: 'claim-verification',
    role: 'verifier',
    content: prompts.verify({ claim: q, passages: listOf(shown) }),
    schema: verificationSchema,
    dryRunValue: { label: 'supports' as const, reasoning: pretended, evidence: [passages[0].text.slice(0, 100)] },
    askOnce,
  });
  const evidence = verified.evidence.map((quotation) => checkedQuotation({ quotation, passages: shown }));
  return { ...verified, evidence };
}

/** What the web says, for debaters who must do without verified claims. */
export async function webAsFound(bench: Bench, reading: Reading): Promise<Analysis> {
  return { material: [], findings: bench.options.use.web ? [asEntry(await searched(bench, reading))] : [] };
}

async function searched(bench: Bench, reading: Reading): Promise<readonly Evidence[]> {
  if (!bench.options.use.web) return [];
  return bench.retrieval.fromWeb({ ...reading, coreClaim: async () => (await extraction(bench, reading)).core });
}

function asEntry(web: readonly Evidence[]): TranscriptEntry {
  return { role: 'web', text: listOf(web.map(described)) };
}

function described({ title, url, date, text }: Evidence): string {
  return `${title} (${URL.canParse(url) ? new URL(url).hostname : url}, ${date ?? 'no date'}): ${text}`;
}
