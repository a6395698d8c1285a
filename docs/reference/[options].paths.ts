import { schemasByFile } from '../../experiments/cli/options.ts';
import { type OptionLine, optionLines } from '../../experiments/config/option-lines.ts';

/** One page a kind of file, with every option that its schema knows: the pages cannot differ from what the program takes. */
export default {
  paths: () =>
    Promise.all(
      Object.entries(schemasByFile()).map(async ([kind, schema]) => ({
        params: { options: `options-${kind}` },
        content: optionsPage(kind, optionLines(await schema())),
      })),
    ),
};

function optionsPage(kind: string, lines: readonly OptionLine[]): string {
  return [
    `# Options of a ${kind} file`,
    '',
    `From the schema that checks the file; \`earshot options ${kind}\` prints the same, and \`--json-schema\` what an editor wants.`,
    '',
    ...lines.flatMap(({ path, values, byDefault, description }) => [
      `- **\`${path}\`**: ${escaped(values)}; ${standing(byDefault)}${description === '' ? '' : `<br>${escaped(description)}`}`,
    ]),
    '',
  ].join('\n');
}

function standing(byDefault: string | null): string {
  if (byDefault === null) return 'must be given';
  return byDefault === '' ? 'may be left out' : `default \`${byDefault}\``;
}

/** Neither HTML nor a template of Vue. */
function escaped(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('{{', '{ {').replaceAll('|', '\\|');
}
