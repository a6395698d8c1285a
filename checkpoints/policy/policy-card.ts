import { markdownText, withoutHtml } from '../../src/markdown-text.ts';
import { type Guarantee, guaranteeInWords } from './guarantee.ts';
import type { Manifest } from './manifest.ts';

/** Facts for the card that the manifest does not contain. */
export interface CardFacts {
  /** The source of the training data, in words. */
  readonly data: string;
  /** Threads per split. */
  readonly threads: Readonly<Record<string, number>>;
  /** The agent beside its baselines, in Markdown. */
  readonly table: string;
  /** The data behind the table, as the beginning of a sentence. */
  readonly measuredOn: string;
  /** Whether the detector or the student reads times. */
  readonly readsTimes: boolean;
}

/** The README.md of a bundle: purpose, training data, measures and risks of the policy. */
export function policyCard(manifest: Omit<Manifest, 'sha256' | 'files'>, facts: CardFacts): string {
  const { data, threads, table, measuredOn, readsTimes } = facts;
  const { system, task, encoder, state, limits, training, student, detector, readsTexts, parity, madeBy } = manifest;
  const fields = state.fields.map(
    ({ name, from, count, meaning }) => `| ${from} … ${from + count - 1} | ${name} | ${markdownText(meaning)} |`,
  );
  const hashes = Object.entries(training.hashes).map(([name, hash]) => `- ${name}: \`${hash}\``);
  return `# A stop policy for ${markdownText(task.name)}: ${markdownText(system)}

Made by Earshot ${madeBy.earshot}${madeBy.commit === null ? '' : ` (commit ${madeBy.commit.slice(0, 12)})`}. It reads a thread post by post and stops when enough was read for a
prediction. Its detector then decides between ${task.labels.map(markdownText).join(', ')}.

## Use

\`\`\`sh
pip install numpy onnxruntime                      # Python 3.8 or later 
python earshot_policy.py < threads.jsonl           # a decision a line
earshot decide threads.jsonl --policy .
\`\`\`

In JavaScript, \`loadPolicy\` of \`earshot/policy\` reads this folder from an address or from bytes, in Node and in browsers.
\`policy.onnx\` takes states, [batch, ${state.columns}], and gives their scores.
${
  readsTexts
    ? ''
    : `
**From texts it runs in Earshot only, if at all:** the states need ${student === null && state.fields.some(({ name }) => name.startsWith('student')) ? 'a student whose encoder is' : 'an encoder that is'} not part of this bundle (\`manifest.json\`, \`encoder\`).
Programs that make such states can use \`policy.onnx\` and \`golden.jsonl\` as they are.
`
}
${ruleLines(manifest.rule, manifest.guarantee ?? null)}

Meant for: ranking or scheduling checks of threads by people or by a costlier detector. Not meant for: deciding on its own
what is done about a post or its author.

## State

| numbers | field | meaning |
|---|---|---|
${fields.join('\n')}

${encoder === null ? 'Posts are not embedded.' : `Encoder: \`${JSON.stringify(encoder)}\`.`} Posts after the first ${limits.maxPosts} are not read.
${student === null ? '' : `The student is in \`${student}\`. `}${detector === null ? 'The detector is not part of the bundle.' : `The detector is in \`${detector}\`.`}

## Data

${withoutHtml(data)}. Threads: ${Object.entries(threads)
    .map(([part, count]) => `${part} ${count}`)
    .join(', ')}. \`trained.json\` has a hash of each thread that the agent
learnt from, so that nobody tests it on them unawares, and \`tested.json\` of each that it was tested on.

${hashes.join('\n')}

Trained for ${training.step} iterations with seed ${training.seed}; every setting is in \`manifest.json\`, \`training.experiment\`.

## Measures

${measuredOn}, with 95% intervals by bootstrap over threads in brackets:

${table}

Earliness is the share of a thread's posts that were seen at the decision. Lower is earlier.

The ONNX file was held against the checkpoint on ${Object.entries(parity.rows)
    .map(([name, rows]) => `${rows} ${name}`)
    .join(', ')} states, in batches of ${parity.batches.join(', ')}: the largest difference in
the stop probability is ${parity.largestDifference.toExponential(1)}.

## Limits and risks

- **Stopping early** queries the detector about few posts. It is then more often wrong, and a wrong early prediction may be
  passed on before replies correct it.
- **Stopping late** costs time in which nothing is done. A thread that ends before the agent stops is decided on its last post.
- The agent learnt when *this* detector, on *this* data, is right. With another detector, language, platform or period, test it
  again on threads of that kind.
- The measures above are of threads drawn like those of the training, unless the data says otherwise.
- ${
    readsTimes
      ? 'It never sees who writes or how posts are linked; only their texts, order and times. Give each post its `time`: it learnt how fast replies come, and a missing time counts as usual.'
      : 'It never sees who writes, when, or how posts are linked; only their texts and order.'
  }
`;
}

/** Replaces the rule and the guarantee on a card. */
export function cardWithGuarantee(
  card: string,
  { rule, guaranteed, guarantee }: { rule: string; guaranteed: string; guarantee: Guarantee },
): string {
  const [before, after] = card.split(ruleLines(rule, null));
  if (after === undefined) return `${card}\n${ruleLines(guaranteed, guarantee)}\n`;
  const rest = after.startsWith('\n\nGuarantee: ') ? after.slice(after.indexOf('\n', 2)) : after;
  return `${before}${ruleLines(guaranteed, guarantee)}${rest}`;
}

function ruleLines(rule: string, guarantee: Guarantee | null): string {
  const lines = `Rule: ${markdownText(rule)}.`;
  return guarantee === null ? lines : `${lines}\n\nGuarantee: ${guaranteeInWords(guarantee)}.`;
}
