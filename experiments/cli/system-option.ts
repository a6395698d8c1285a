import { Option } from '@commander-js/extra-typings';

/** Which row of a run's report is meant. */
export function systemOption() {
  return new Option(
    '--system <name>',
    'row of the run\'s report, such as "after 1 h", or best for the one that it recommends (default: the agent that was trained)',
  );
}
