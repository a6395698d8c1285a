import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { mostMegabytes } from '../../src/data/text-lines.ts';
import { positiveInteger } from './option-values.ts';

/** The most bytes that a line may have; given in megabytes. */
export const maxLineOption = new Option(
  '--max-line-mb <megabytes>',
  'most megabytes of a line, a row or a JSON list (default: 256, or EARSHOT_MAX_LINE_MB)',
).argParser((text) => {
  const megabytes = positiveInteger(text);
  if (megabytes > mostMegabytes) throw new InvalidArgumentError(`It may be up to ${mostMegabytes}.`);
  return megabytes * 2 ** 20;
});
