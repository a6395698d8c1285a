import type { StopMember } from './problem.ts';

const bytesPerNumber = 4;
/** Parameters, two moments, a gradient, and what an Adam step makes on its way, which lives to its end. */
const copiesOfParameters = 18;
/** The states of a minibatch with a copy that a product takes, and what the layers above them hold until the backward pass. */
const copiesOfInputs = 3;
const copiesOfActivations = 30;

/**
 * An upper estimate of the bytes of tensors while these members are trained together. `tests` hold it against the peak of
 * an iteration.
 * @param options.tablesOnDevice whether the backend keeps the state tables, too
 */
export function estimatedBytes(members: readonly StopMember[], options: { tablesOnDevice: boolean }): number {
  let numbers = 0;
  for (const { config, problem } of members) {
    const { columns } = problem.table;
    const { discriminator } = config.imitation;
    const imitates = config.algorithm === 'imitation';
    // A critic lies beside the policy.
    const policyHidden = (imitates ? 2 : 1) * config.hidden;
    const parameters = (hidden: number) => (columns + hidden + 8) * hidden;
    numbers += copiesOfParameters * (parameters(policyHidden) + (imitates ? parameters(discriminator.hidden) : 0));
    const rows = rowsAtOnce({ config, problem });
    const hidden = Math.max(policyHidden, imitates ? discriminator.hidden : 0);
    numbers += rows * (copiesOfInputs * columns + copiesOfActivations * hidden);
  }
  if (options.tablesOnDevice)
    for (const table of new Set(members.map(({ problem }) => problem.table))) numbers += table.data.length;
  return numbers * bytesPerNumber;
}

/** The most rows of states that a pass of one member holds. */
function rowsAtOnce({ config, problem }: Pick<StopMember, 'config' | 'problem'>): number {
  const { ppo, discriminator } = config.imitation;
  const labelled = Array.from(problem.labelled.values(), ({ right }) => right.length);
  const ofTask = labelled.reduce((sum, posts) => sum + posts, 0);
  if (config.algorithm !== 'imitation') return Math.max(ofTask, config.behaviorCloning.batchSize);
  const longest = Math.max(1, ...problem.table.lengths);
  const reachable = 2 * (ppo.stepsPerIteration + longest) - 1;
  return Math.max(2 * reachable + 3 * discriminator.batchSize, ofTask);
}

/** Members in groups, in their order, as large as the bytes allow; a member that does not fit alone is a group, too. */
export function groupsThatFit<Member extends StopMember>(
  members: readonly Member[],
  options: { bytes: number; tablesOnDevice: boolean },
): Member[][] {
  const groups: Member[][] = [];
  for (const member of members) {
    const last = groups.at(-1);
    if (last !== undefined && estimatedBytes([...last, member], options) <= options.bytes) last.push(member);
    else groups.push([member]);
  }
  return groups;
}
