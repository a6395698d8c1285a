import { InputError } from '../../../src/errors.ts';
import type { JudgingTask } from '../../tasks/task-file.ts';

/** What a debater argues for. */
export interface Side {
  readonly name: string;
  readonly meaning: string;
}

export interface Sides {
  readonly real: Side;
  readonly fake: Side;
}

/** The two labels of a task that are debated: the ones named, or those of a task that has two, the trusting one first. */
export function sidesOf(settings: {
  options: {
    readonly sides: { readonly real?: string | undefined; readonly fake?: string | undefined };
    readonly insufficientLabel: string | null;
  };
  task: JudgingTask;
}): Sides {
  const { options, task } = settings;
  const { labels } = task;
  if (labels === undefined)
    throw new InputError(
      `zofia debates between two labels; the task ${task.name} has categories, which debate-single, debate-team, debate-council and single-prompt can judge`,
    );
  const names = labels.map(({ name }) => name).join(', ');
  const sideOf = (side: 'real' | 'fake', byDefault: number): Side => {
    const wanted = options.sides[side] ?? (labels.length === 2 ? labels[byDefault].name : undefined);
    const label = labels.find(({ name }) => name === wanted);
    if (label === undefined)
      throw new InputError(
        wanted === undefined
          ? `the task ${task.name} has ${labels.length} labels (${names}), but zofia debates between two; name them in sides.real and sides.fake`
          : `sides.${side} is ${JSON.stringify(wanted)}, which is no label of the task ${task.name} (${names})`,
      );
    return { name: label.name, meaning: label.description };
  };
  const sides = { real: sideOf('real', 0), fake: sideOf('fake', 1) };
  if (sides.real.name === sides.fake.name)
    throw new InputError(`sides.real and sides.fake are both ${JSON.stringify(sides.real.name)}; name two labels`);
  if (options.insufficientLabel !== null && !labels.some(({ name }) => name === options.insufficientLabel))
    throw new InputError(
      `insufficientLabel is ${JSON.stringify(options.insufficientLabel)}, which is no label of the task ${task.name} (${names})`,
    );
  return sides;
}

/** Both sides as the analysts and the judge are told of them. */
export function bothSides({ real, fake }: Sides): string {
  return [real, fake].map(({ name, meaning }) => `- ${name}: ${meaning}`).join('\n');
}
