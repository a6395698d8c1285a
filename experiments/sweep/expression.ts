import type { Node } from 'estree';
import { parseExpression } from 'vega-expression';
import { InputError } from '../../src/errors.ts';

/*
 * The small expressions of a sweep file: `agent.imitation.alpha + agent.imitation.beta > agent.imitation.gamma`. They are
 * parsed by Vega's parser and walked here, so that nothing in a file is ever run as code.
 */

export type Value = number | string | boolean | null;

export interface Expression {
  readonly text: string;
  /** The dotted names that stand in it. */
  readonly names: readonly string[];
  /** @throws InputError where a name has no value, or an operator does not fit what it is given */
  evaluate(read: (name: string) => unknown): Value;
}

/**
 * Numbers, 'texts', true, false, null, dotted names, + − * / %, comparisons, &&, ||, !, and brackets.
 * @throws InputError for a text that is no such expression
 */
export function parsedExpression(text: string): Expression {
  let root: Node;
  try {
    root = parseExpression(text);
  } catch (error) {
    throw new InputError(
      `${JSON.stringify(text)} is no expression (${error instanceof Error ? error.message : error}); write one such as alpha + beta > gamma`,
      { cause: error },
    );
  }
  const names = new Set<string>();
  collectNames(root, { names, text });
  return { text, names: [...names], evaluate: (read) => evaluated(root, { text, read }) };
}

function collectNames(node: Node, { names, text }: { names: Set<string>; text: string }): void {
  if (node.type === 'Identifier' || node.type === 'MemberExpression') {
    names.add(dottedName(node, text));
    return;
  }
  for (const child of partsOf(node, text)) collectNames(child, { names, text });
}

function partsOf(node: Node, text: string): Node[] {
  switch (node.type) {
    case 'Literal':
      return [];
    case 'UnaryExpression':
      return [node.argument];
    case 'BinaryExpression':
    case 'LogicalExpression':
      return [node.left, node.right];
    default:
      throw new InputError(
        `${JSON.stringify(text)} holds a ${node.type}; expressions are made of numbers, names, arithmetic and comparisons`,
      );
  }
}

function dottedName(node: Node, text: string): string {
  if (node.type === 'Identifier') return node.name;
  if (node.type === 'MemberExpression' && !node.computed)
    return `${dottedName(node.object, text)}.${dottedName(node.property, text)}`;
  throw new InputError(
    `${JSON.stringify(text)} holds a ${node.type} where a name such as agent.task.delayCost is needed`,
  );
}

interface Reading {
  readonly text: string;
  readonly read: (name: string) => unknown;
}

function evaluated(node: Node, reading: Reading): Value {
  switch (node.type) {
    case 'Literal':
      return valueIn(node.value, { name: node.raw ?? '', text: reading.text });
    case 'Identifier':
    case 'MemberExpression': {
      const name = dottedName(node, reading.text);
      return valueIn(reading.read(name), { name, text: reading.text });
    }
    case 'UnaryExpression': {
      const value = evaluated(node.argument, reading);
      if (node.operator === '!') return !value;
      return node.operator === '-' ? -number(value, reading) : number(value, reading);
    }
    case 'LogicalExpression': {
      const left = evaluated(node.left, reading);
      const isDecided = node.operator === '&&' ? !left : left;
      return isDecided ? left : evaluated(node.right, reading);
    }
    case 'BinaryExpression':
      return compared(node.operator, {
        left: evaluated(node.left, reading),
        right: evaluated(node.right, reading),
        reading,
      });
    default:
      throw new InputError(`${JSON.stringify(reading.text)} holds a ${node.type}`);
  }
}

/** Sums of decimal fractions are not exact: 0.1 + 0.2 is above 0.3. What differs by so little counts as equal. */
const tolerance = 1e-9;

function compared(operator: string, options: { left: Value; right: Value; reading: Reading }): Value {
  const { left, right, reading } = options;
  const bothNumbers = typeof left === 'number' && typeof right === 'number';
  if (operator === '==' || operator === '===')
    return bothNumbers ? Math.abs(left - right) <= tolerance : left === right;
  if (operator === '!=' || operator === '!==') return bothNumbers ? Math.abs(left - right) > tolerance : left !== right;
  const [a, b] = [number(left, reading), number(right, reading)];
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    case '<':
      return a < b - tolerance;
    case '<=':
      return a <= b + tolerance;
    case '>':
      return a > b + tolerance;
    case '>=':
      return a >= b - tolerance;
    default:
      throw new InputError(`${JSON.stringify(reading.text)} holds the operator ${operator}, which is not known here`);
  }
}

function valueIn(value: unknown, { name, text }: { name: string; text: string }): Value {
  if (value === null || typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
    return value;
  throw new InputError(
    `${JSON.stringify(text)}: ${name} is ${value === undefined ? 'not there' : 'no single value'}; name a setting or a metric that is a number, a text, true, false or null`,
  );
}

function number(value: Value, { text }: Reading): number {
  if (typeof value === 'number') return value;
  throw new InputError(`${JSON.stringify(text)} computes with ${JSON.stringify(value)}; a number is needed there`);
}
