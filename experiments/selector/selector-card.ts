import type { SelectorManifest } from './selector-manifest.ts';

/** The README.md of a selector's bundle. */
export function selectorCard(manifest: SelectorManifest): string {
  const { madeBy, levels, encoder, taskModels, training, parity } = manifest;
  const rows = Object.entries(levels).map(
    ([level, { columns, onnx, classes }]) => `| ${level} | \`${onnx}\` | ${columns} | ${classes.join(', ')} |`,
  );
  const fields = Object.values(levels)[0].fields.map(
    ({ name, from, count, meaning }) => `| ${from} … ${from + count - 1} | ${name} | ${meaning} |`,
  );
  const hashes = Object.entries(training.hashes).map(([name, hash]) => `- ${name}: \`${hash}\``);
  const checked = Object.entries(parity)
    .map(([level, { rows: own, largestDifference }]) => {
      const counts = Object.entries(own).map(([name, count]) => `${count} ${name}`);
      return `${level}: ${counts.join(', ')} states, probabilities at most ${largestDifference.toExponential(1)} apart`;
    })
    .join('; ');
  return `# A selector of machine-labelled claims and posts

Exported by Earshot ${madeBy.earshot}${madeBy.commit === null ? '' : ` (commit ${madeBy.commit.slice(0, 12)})`}. It decides which machine-labelled posts and claims are worth training on.

## Use

\`\`\`sh
pip install numpy onnxruntime                          # Python 3.10 or later
python earshot_selector.py < states.jsonl              # {"level": "posts", "state": [...]} a line
\`\`\`

\`earshot_selector.py\` also builds states from embeddings (\`Context\`). **The bundle decides on states, not on texts:** the encoder and
the task models that label and explain are not part of it. \`earshot select <run>\` does all of it in one command.

| level | file | numbers in a state | classes of the task model |
|---|---|---|---|
${rows.join('\n')}

An item is retained where the probability is at least one half. Posts of a claim are shown in time order; the claim follows with
what was retained of it.

| numbers | field | meaning |
|---|---|---|
${fields.join('\n')}

Encoder: \`${JSON.stringify(encoder)}\`. Task models: \`${JSON.stringify(taskModels)}\`.

## Data and training

${training.claims.labelled} claims with known veracity and ${training.claims.unlabelled} without. \`trained.json\` has a hash of each thread that the selector learnt from.

${hashes.join('\n')}

Trained for ${training.epochs} epochs with seed ${training.seed}; every setting and every measure is in \`manifest.json\`.

Held against the checkpoint: ${checked}.

## Limits

- It learnt what *these* task models get right on *this* data. With other models, another language or other topics, test it again.
- What it discards may be rare rather than wrong: compare the shares of the classes before and after.
`;
}
