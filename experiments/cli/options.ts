import { Argument, Command } from '@commander-js/extra-typings';
import type { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { jsonSchemaOf, type OptionLine, optionLines } from '../config/option-lines.ts';
import { kinds } from '../kinds/kinds.ts';
import { printJson, type Terminal } from './terminal.ts';

/** The files that are described, by kind. */
export function schemasByFile(): Record<string, () => Promise<z.ZodType>> {
  return {
    ...Object.fromEntries(Object.entries(kinds).map(([name, load]) => [name, async () => (await load()).schema])),
    detector: async () => (await import('../config/detector-file.ts')).detectorFileSchema,
    sweep: async () => (await import('../sweep/sweep-file.ts')).sweepSchema,
  };
}

export function optionsCommand({ stdout }: Terminal) {
  const schemas = schemasByFile();
  return new Command('options')
    .description(
      'Say what may stand in an experiment file, a detector file or a sweep file: every option, its values, its default.',
    )
    .addArgument(new Argument('<file>', 'which kind of file').choices(Object.keys(schemas)))
    .argument('[option]', 'only this option and those within it, such as agent.imitation')
    .option('--json-schema', 'print the JSON Schema instead, for editors that check YAML by one')
    .addHelpText(
      'after',
      `
Every option of an experiment can be set with --set, too. Where a value can be of several kinds, options are listed for each,
as stanceModel[local].encoder.

Examples:
  earshot options stop-agent agent.imitation
  earshot options selector selector
  earshot options detector --json-schema > detector.schema.json`,
    )
    .action(async (file, option, { jsonSchema }) => {
      const schema = await schemas[file]();
      if (jsonSchema) return printJson({ stdout }, jsonSchemaOf(schema));
      const lines = optionLines(schema, option);
      if (lines.length === 0)
        throw new InputError(
          `${file} files have no option ${option}; \`earshot options ${file}\` lists all, beginning with ${topLevel(schema)}`,
        );
      stdout.write(lines.map(printed).join(''));
    });
}

function printed({ path, values, byDefault, description }: OptionLine): string {
  const standing = byDefault === null ? 'must be given' : byDefault === '' ? 'may be left out' : `default ${byDefault}`;
  return `${path}: ${values}; ${standing}\n${description === '' ? '' : `    ${description}\n`}`;
}

function topLevel(schema: Parameters<typeof optionLines>[0]): string {
  return optionLines(schema)
    .flatMap(({ path }) => (path.includes('.') ? [] : [path]))
    .join(', ');
}
