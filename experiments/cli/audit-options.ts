import { Option } from '@commander-js/extra-typings';
import { percentage, positiveInteger, seed } from './option-values.ts';

export const auditOptions = {
  share: new Option(
    '--audit <share>',
    'share of threads, drawn at random, that are read on to their end, so that `earshot monitor` can check the guarantee; such as 10%',
  ).argParser(percentage),
  file: new Option('--audits <file>', 'where audits are appended').default('audits.jsonl'),
  seed: new Option('--audit-seed <number>', 'another seed draws other threads').default(1).argParser(seed),
  queries: new Option('--audit-queries <count>', 'no further thread is drawn once audits took so many queries')
    .default(Number.POSITIVE_INFINITY, 'no limit')
    .argParser(positiveInteger),
};
