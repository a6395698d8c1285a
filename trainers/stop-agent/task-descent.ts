import type { Tensors } from '../../src/tensor/adam.ts';
import type { MlpName } from '../../src/tensor/mlp.ts';
import { returnGradients } from '../exact-return.ts';
import { type LabelledRows, labelledRows, labelledStates, noLabelledRows } from './labelled-threads.ts';
import type { StopLearner } from './setup.ts';

/** The gradient of the task's own return beside PPO's. */
export interface TaskDescent {
  /** To be called before the updates of an iteration. */
  begin(): void;
  alsoDescend(): Promise<Tensors<MlpName>>;
  /** The members' expected returns before the iteration's first update; null before it. */
  returnsBefore(): number[] | null;
  dispose(): void;
}

/**
 * Null where no member gives its task a weight. The states of the labelled threads are gathered once, and again only where a
 * normaliser that learns has changed them.
 * @throws InputError when a member gives its task a weight and has no labelled thread
 */
export function createTaskDescent(learner: StopLearner): TaskDescent | null {
  const { members, agent } = learner;
  const weights = members.map(({ config }) => config.imitation.taskWeight);
  if (weights.every((weight) => weight === 0)) return null;
  const labelled = members.map(
    (member, index): LabelledRows => (weights[index] > 0 ? labelledRows(member) : noLabelledRows),
  );
  let { states } = learner;
  let observations = labelledStates(learner, labelled);
  let before: number[] | null = null;
  return {
    begin() {
      before = null;
      if (learner.states === states) return;
      observations.dispose();
      observations = labelledStates(learner, labelled);
      states = learner.states;
    },
    async alsoDescend() {
      const { returns, gradients } = await returnGradients(agent, {
        observations,
        worths: labelled.map(({ worths }) => worths),
        weights,
      });
      before ??= returns;
      return gradients;
    },
    returnsBefore: () => before,
    dispose: () => observations.dispose(),
  };
}
