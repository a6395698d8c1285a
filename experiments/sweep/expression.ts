import type { Node } from 'estree';
import { parseExpression } from 'vega-expression';
import { InputError } from '../../src/errors.ts';

/*
 * The small expressions of a sweep file: `agent.imitation.alpha + agent.imitation.beta > agent.imitation.gamma`. They are
 * parsed by Vega's parser and walked here, so that nothing in a file is ever run as code.
 */

export type ExpressionValue = number | string | boolean | null;
type Read = (name: string) => unknown;

export interface Expression {
  readonly text: string;
  /** The dotted names that stand in it. */
  readonly names: readonly string[];
  /** @throws InputError where a name has no value, or an operator does not fit what it is given */
  evaluate(read: Read): ExpressionValue;
}

/**
 * Numbers, 'texts', true, false, null, dotted names, + − * / %, comparisons, &&, ||, !, and brackets.
 * @throws InputError for a text that is no such expression
 */
export function parsedExpression(text: string): Expression {
  const shown = JSON.stringify(text);
  const names = new Set<string>();
  const number = (value: ExpressionValue): number => {
    if (typeof value === 'number') return value;
    throw new InputError(`${shown} computes with ${JSON.stringify(value)}; a number is needed there`);
  };

  function compiled(node: Node): (read: Read) => ExpressionValue {
    switch (node.type) {
      case 'Literal': {
        const { value } = node;
        return () => valueIn(value, { name: node.raw ?? '', shown });
      }
      case 'Identifier':
      case 'MemberExpression': {
        const name = dottedName(node, shown);
        names.add(name);
        return (read) => valueIn(read(name), { name, shown });
      }
      case 'UnaryExpression': {
        const [operand, sign] = [compiled(node.argument), node.operator === '-' ? -1 : 1];
        return node.operator === '!' ? (read) => !operand(read) : (read) => sign * number(operand(read));
      }
      case 'LogicalExpression': {
        const [left, right] = [compiled(node.left), compiled(node.right)];
        const isAnd = node.operator === '&&';
        return (read) => {
          const first = left(read);
          return Boolean(first) === isAnd ? right(read) : first;
        };
      }
      case 'BinaryExpression': {
        const [left, right, operator] = [compiled(node.left), compiled(node.right), operators[node.operator]];
        if (operator !== undefined) return (read) => operator(number(left(read)), number(right(read)));
        const isEqual = { '==': true, '===': true, '!=': false, '!==': false }[String(node.operator)];
        if (isEqual !== undefined) return (read) => areEqual(left(read), right(read)) === isEqual;
        return foreignTo(shown, `the operator ${node.operator}`);
      }
      default:
        return foreignTo(shown, `a ${node.type}`);
    }
  }

  const evaluate = compiled(parsed(text));
  return { text, names: [...names], evaluate };
}

function parsed(text: string): Node {
  try {
    return parseExpression(text);
  } catch (error) {
    throw new InputError(
      `${JSON.stringify(text)} is no expression (${error instanceof Error ? error.message : error}); write one such as alpha + beta > gamma`,
      { cause: error },
    );
  }
}

function dottedName(node: Node, shown: string): string {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'MemberExpression' && !node.computed)
    return `${dottedName(node.object, shown)}.${dottedName(node.property, shown)}`;
  return foreignTo(shown, `a ${node.type}`);
}

function foreignTo(shown: string, part: string): never {
  throw new InputError(
    `${shown} holds ${part}; expressions are made of numbers, names such as agent.task.delayCost, arithmetic and comparisons`,
  );
}

/** Sums of decimal fractions are not exact: 0.1 + 0.2 is above 0.3. What differs by so little counts as equal. */
const tolerance = 1e-9;

function areEqual(left: ExpressionValue, right: ExpressionValue): boolean {
  return typeof left === 'number' && typeof right === 'number' ? Math.abs(left - right) <= tolerance : left === right;
}

const operators: Readonly<Record<string, ((left: number, right: number) => ExpressionValue) | undefined>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
  '<': (left, right) => left < right - tolerance,
  '<=': (left, right) => left <= right + tolerance,
  '>': (left, right) => left > right + tolerance,
  '>=': (left, right) => left >= right - tolerance,
};

function valueIn(value: unknown, { name, shown }: { name: string; shown: string }): ExpressionValue {
  if (value === null || typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
    return value;
  throw new InputError(
    `${shown}: ${name} is ${value === undefined ? 'not there' : 'no single value'}; name a setting or a metric that is a number, a text, true, false or null`,
  );
}
