import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { checked } from '../../src/checked.ts';
import { sha256 } from '../../src/content-hash.ts';
import { InputError } from '../../src/errors.ts';
import { parseYaml } from '../../src/yaml.ts';
import { quotedEvidence } from '../llm/prompt-text.ts';

/** An option of every detector on language models. */
export const promptsSchema = z
  .string()
  .min(1)
  .nullable()
  .default(null)
  .describe(
    'file of prompts: a copy of experts/detectors/prompts/<detector>.yaml, edited; it is part of annotation keys. null: the shipped file',
  );

const fileSchema = z.strictObject({
  version: z.int().positive().describe('to be raised with every change'),
  examples: z
    .array(z.strictObject({ posts: z.array(z.string()).min(1), answer: z.string() }))
    .default([])
    .describe('solved examples, for prompts with {examples}'),
  prompts: z.record(z.string(), z.string()),
});
type PromptFile = z.output<typeof fileSchema>;

/** A detector's prompts: templates in which {name} stands for a value. */
export interface Prompts {
  /** The version in annotation keys: of the shipped file, or of a custom file with its hash. */
  readonly version: number | { readonly version: number; readonly sha256: string };
  /** Fills the values into a prompt. Placeholders inside a value are not replaced. */
  render(name: string, values?: Readonly<Record<string, string>>): string;
}

/**
 * Reads the shipped prompts of a detector, or a file that replaces some or all of them.
 * @throws InputError if the file cannot be read, has an unknown prompt or placeholder, or lacks one
 */
export function loadPrompts({ detector, path }: { detector: string; path: string | null }): Prompts {
  const shipped = readPrompts(new URL(`./prompts/${detector}.yaml`, import.meta.url), `${detector}.yaml`);
  if (path === null) return promptsOf(shipped, shipped.version);
  const custom = readPrompts(path, path);
  for (const [name, template] of Object.entries(custom.prompts))
    checkPrompt({ path, name, template, shipped, detector });
  const merged = { ...custom, prompts: { ...shipped.prompts, ...custom.prompts } };
  // The form of the examples is part of the prompt.
  const hashed = merged.examples.length === 0 ? merged : { ...merged, examples: examplesInWords(merged.examples) };
  return promptsOf(merged, { version: custom.version, sha256: sha256(hashed) });
}

function promptsOf({ prompts, examples }: PromptFile, version: Prompts['version']): Prompts {
  const shown = examplesInWords(examples);
  return {
    version,
    render(name, values = {}) {
      return prompts[name].replace(PLACEHOLDER, (_, key: string) => {
        const value = key === 'examples' ? shown : values[key];
        if (value === undefined) throw new Error(`the prompt ${name} was given no ${key}`);
        return value;
      });
    },
  };
}

const PLACEHOLDER = /\{([a-zA-Z]\w*)\}/g;

function placeholdersOf(template: string): string[] {
  return [...new Set([...template.matchAll(PLACEHOLDER)].map((match) => match[1]))];
}

function checkPrompt(options: {
  path: string;
  name: string;
  template: string;
  shipped: PromptFile;
  detector: string;
}): void {
  const { path, name, template, shipped, detector } = options;
  if (!Object.hasOwn(shipped.prompts, name))
    throw new InputError(
      `${path} has a prompt ${JSON.stringify(name)}, which ${detector} does not know; its prompts are ${Object.keys(shipped.prompts).join(', ')}`,
    );
  const expected = placeholdersOf(shipped.prompts[name]);
  const actual = placeholdersOf(template);
  const unknown = actual.filter((each) => each !== 'examples' && !expected.includes(each));
  const missing = expected.filter((each) => each !== 'examples' && !actual.includes(each));
  if (unknown.length > 0 || missing.length > 0)
    throw new InputError(
      `${path}: the prompt ${name} ${unknown.length > 0 ? `has {${unknown.join('}, {')}}, which stands for nothing` : `lacks {${missing.join('}, {')}}`}; ` +
        `it needs {${expected.join('}, {')}}`,
    );
}

function readPrompts(path: string | URL, name: string): PromptFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InputError(`cannot read the prompts ${name}: ${error instanceof Error ? error.message : error}`);
  }
  return checked(fileSchema, parseYaml(text, `${name} is`), `${name} is not a file of prompts`);
}

function examplesInWords(examples: PromptFile['examples']): string {
  return examples
    .map(({ posts, answer }, index) => `${quotedEvidence(`Example ${index + 1}`, posts)}\n${answer}\n\n`)
    .join('');
}
