import { quoted } from '../../shell-words.ts';
import { mostClasses } from '../classes-of-labels.ts';
import { foldedName } from '../folded-name.ts';
import { groupBy } from '../group-by.ts';
import type { Thread } from '../thread.ts';

/** A limit, because a label of free texts would fill the memory. */
const mostValues = 1000;

/** Collects the values of labels and reports those that make bad classes. */
export function labelValueCounts({ takesMap }: { takesMap: boolean }) {
  const values = new Map<string, Set<string>>();
  return {
    add({ labels = {} }: Pick<Thread, 'labels'>): void {
      for (const [name, value] of Object.entries(labels)) {
        if (value === null) continue;
        const words = values.get(name) ?? new Set();
        values.set(name, words);
        if (words.size <= mostValues) words.add(String(value));
      }
    },
    /** Warns of labels with more values than a task has classes, and of values that look alike. */
    warnings(): string[] {
      return [...values].flatMap(([name, words]) => {
        const label = `the label ${JSON.stringify(name)}`;
        const few = [...words].slice(0, 3).map((value) => JSON.stringify(value));
        const count = words.size > mostValues ? `more than ${mostValues}` : String(words.size);
        const tooMany = `${label} has ${count} different values, such as ${few.join(', ')}: a task has 2 to ${mostClasses} classes${takesMap ? ', so put some together with --label-map, or take another column' : ''}`;
        return [
          ...(words.size > mostClasses ? [tooMany] : []),
          ...lookAlikes(words).map((forms) => alikeText(label, forms, { takesMap })),
        ];
      });
    },
  };
}

/** Values that differ only in case or invisible characters. */
export function lookAlikes(values: Iterable<string>): string[][] {
  const byLook = groupBy(values, (value) => foldedName(value).toLowerCase());
  return [...byLook.values()].filter(({ length }) => length > 1);
}

function alikeText(label: string, forms: readonly string[], { takesMap }: { takesMap: boolean }): string {
  const areCases = new Set(forms.map(foldedName)).size === forms.length;
  const shown = forms.map((form) => (areCases ? JSON.stringify(form) : inAscii(form)));
  const [first] = forms;
  const advice = takesMap && areCases ? `; --label-map ${quoted(`${first}=${first}`)} makes them one` : '';
  return `${label} has the values ${shown.join(' and ')}, which differ only in ${areCases ? 'case' : 'characters that look the same'} and are different classes${advice}`;
}

function inAscii(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
