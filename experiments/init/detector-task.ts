import { type JudgingTask, judgementLabels } from '../../experts/tasks/task-file.ts';
import { identityOf, type Task } from '../../src/data/task.ts';
import { InputError } from '../../src/errors.ts';

/** A task with its classes in the order of a detector file. @throws InputError if the file judges other classes */
export function inOrderOf(file: { readonly path: string; readonly task: JudgingTask }, task: Task): Task {
  const labels = judgementLabels(file.task);
  if ([...labels].sort().join('\n') === [...task.labels].sort().join('\n'))
    return typeof identityOf(task) === 'string' ? task : { ...task, labels };
  throw new InputError(
    `${file.path} judges ${file.task.name}, whose labels are ${labels.join(', ')}, and ${task.name} has ${task.labels.join(', ')}; give a detector of that task, or another --task`,
  );
}
