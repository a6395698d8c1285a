import type { Tensors } from '../../src/tensor/adam.ts';
import type { MlpName } from '../../src/tensor/mlp.ts';
import { returnGradients } from '../exact-return.ts';
import { type LabelledRows, labelledStates } from './labelled-threads.ts';
import type { StopLearner } from './setup.ts';

/** The gradient of the task's own return beside PPO's, for one iteration. */
export interface TaskDescent {
  alsoDescend(): Promise<Tensors<MlpName>>;
  /** The members' expected returns before the first update; null before it. */
  returnsBefore(): number[] | null;
  dispose(): void;
}

/** Whether any member gives its task a weight. */
export function isTaskDescended(labelled: readonly LabelledRows[]): boolean {
  return labelled.some(({ worths }) => worths.length > 0);
}

/** One entry of `labelled` a member; without threads for a member that gives its task no weight. */
export function createTaskDescent(learner: StopLearner, labelled: readonly LabelledRows[]): TaskDescent {
  const observations = labelledStates(learner, labelled);
  let before: number[] | null = null;
  return {
    async alsoDescend() {
      const { returns, gradients } = await returnGradients(learner.agent, {
        observations,
        worths: labelled.map(({ worths }) => worths),
        weights: learner.members.map(({ config }) => config.imitation.taskWeight),
      });
      before ??= returns;
      return gradients;
    },
    returnsBefore: () => before,
    dispose: () => observations.dispose(),
  };
}
