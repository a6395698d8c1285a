import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  classesOfLabels,
  labelsWithoutTask,
  sortedClasses,
  taskIn,
  tasksOf,
} from '../../../src/data/classes-of-labels.ts';
import { taskOfLabel } from '../../../src/data/task.ts';

const labelled = (values: readonly (string | number | boolean | null)[]) =>
  values.map((value) => ({ rumor: null, veracity: null, labels: { outcome: value } }));

describe('classes of a label', () => {
  it('are texts: numbers by size, false before true, others by their characters', () => {
    expect(sortedClasses([10, 9, '9', -1])).toEqual(['-1', '9', '10']);
    expect(sortedClasses([true, false])).toEqual(['false', 'true']);
    expect(sortedClasses(['b', 'a ', 'B', '10', '9'])).toEqual(['10', '9', 'B', 'a ', 'b']);
  });

  it('give every thread its own class back, whatever their names and however many', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
    const classes = fc.uniqueArray(fc.oneof(name, fc.integer(), fc.boolean()), {
      minLength: 2,
      maxLength: 20,
      selector: String,
    });
    fc.assert(
      fc.property(classes, fc.array(fc.nat(), { minLength: 30, maxLength: 60 }), (values, drawn) => {
        const threads = labelled([...values, ...drawn.map((index) => values[index % values.length]), null]);
        const task = taskIn(threads, { name: undefined, path: 'x' });
        expect([task.name, [...task.labels].sort()]).toEqual(['outcome', values.map(String).sort()]);
        for (const thread of threads) {
          const { outcome } = thread.labels;
          expect(task.labels[task.goldLabel(thread) ?? -1]).toBe(outcome === null ? undefined : String(outcome));
        }
      }),
      { seed: 29, numRuns: 200 },
    );
  });

  it('are two to twenty', () => {
    const names = Array.from({ length: 21 }, (_, index) => `c${index}`);
    const of = (values: readonly string[]) =>
      classesOfLabels(new Map(values.map((own) => [own, 1])), { label: 'x', path: 'p' });
    expect(of(names.slice(0, 20))).toHaveLength(20);
    expect(() => of(names)).toThrow('more than 20 different values');
    expect(() => of(['a'])).toThrow('at least two classes');
    expect(tasksOf(labelled(names)).map((task) => task.name)).toEqual(['rumor', 'veracity', 'rumor-veracity']);
  });
});

describe('the task of a label', () => {
  it('is the known one where its name and its classes are', () => {
    const thread = { rumor: true, veracity: null, labels: { rumor: 'maybe' } };
    expect(taskOfLabel({ name: 'rumor', labels: ['non-rumor', 'rumor'] }).goldLabel(thread)).toBe(1);
    expect(taskOfLabel({ name: 'rumor', labels: ['maybe', 'no'] }).goldLabel(thread)).toBe(0);
  });

  it('names a value that is no class, and does not take what objects have by themselves for a label', () => {
    const task = taskOfLabel({ name: 'toString', labels: ['a', 'b'] });
    expect(task.goldLabel({ rumor: null, veracity: null, labels: {} })).toBeNull();
    expect(() => task.goldLabel({ rumor: null, veracity: null, labels: { toString: 'c' } })).toThrow(
      'has the label "c" for toString, and the task knows a, b',
    );
  });
});

it('says why labels are no tasks', () => {
  const threads = Array.from({ length: 30 }, (_, index) => ({
    labels: { topic: index % 21, side: index % 2, whole: 'x', none: null },
  }));
  expect(labelsWithoutTask(threads)).toEqual([
    'the label "topic" has more than 20 values, and a task has 2 to 20 classes',
    'the label "whole" has one value only, "x"',
  ]);
});
