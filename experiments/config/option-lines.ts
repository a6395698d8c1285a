import { z } from 'zod';

/** Stands in paths for the keys of a map, which users choose. */
export const anyKey = '<name>';

export interface OptionLine {
  /** Dotted, such as `agent.imitation.alpha`; alternatives are told apart as in `stanceModel[local].encoder`. */
  readonly path: string;
  /** The allowed values: `number`, `local | chat`, … */
  readonly values: string;
  /** As JSON; null where a value must be given. */
  readonly byDefault: string | null;
  readonly description: string;
}

const nodeSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  additionalProperties: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
});
type Node = z.output<typeof nodeSchema>;

export function jsonSchemaOf(schema: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

/** Every option below a place, in the order of the schema; empty for an unknown place. */
export function optionLines(schema: z.ZodType, below = ''): OptionLine[] {
  const lines = linesAt({ node: nodeSchema.parse(jsonSchemaOf(schema)), path: '', isRequired: false });
  return below === '' ? lines : lines.filter(({ path }) => isWithin(path, below));
}

/** Also matches without the names of alternatives: `stanceModel.encoder` means the encoder of any alternative. */
function isWithin(path: string, place: string): boolean {
  return [path, path.replace(/\[[^\]]*\]/g, '')].some(
    (form) => form === place || form.startsWith(`${place}.`) || form.startsWith(`${place}[`),
  );
}

function linesAt({ node, path, isRequired }: { node: Node; path: string; isRequired: boolean }): OptionLine[] {
  const ofNode: OptionLine[] =
    path === ''
      ? []
      : [
          {
            path,
            values: valuesOf(node),
            byDefault: node.default === undefined ? (isRequired ? null : '') : JSON.stringify(node.default),
            description: node.description ?? '',
          },
        ];
  const objects = alternativesOf(node).filter(({ properties }) => properties !== undefined);
  const maps = alternativesOf(node).flatMap(({ additionalProperties: value }) => {
    const child = nodeSchema.safeParse(value).data;
    return child === undefined ? [] : linesAt({ node: child, path: `${path}.${anyKey}`, isRequired: false }).slice(1);
  });
  const inner = objects.flatMap((alternative) => {
    const mark = objects.length > 1 ? `[${nameOf(alternative) ?? Object.keys(alternative.properties ?? {})[0]}]` : '';
    const { properties = {}, required = [] } = alternative;
    return Object.entries(properties).flatMap(([key, child]) =>
      linesAt({
        node: nodeSchema.parse(child),
        path: path === '' ? key : `${path}${mark}.${key}`,
        isRequired: required.includes(key),
      }),
    );
  });
  return [...ofNode, ...maps, ...inner];
}

function alternativesOf(node: Node): Node[] {
  const alternatives = node.anyOf ?? node.oneOf;
  return alternatives === undefined ? [node] : alternatives.flatMap((each) => alternativesOf(nodeSchema.parse(each)));
}

/** The name of an alternative: the constant value of its `name`, or else of another property. */
function nameOf({ properties = {} }: Node): string | null {
  const { name, ...others } = properties;
  const constants = [name, ...Object.values(others)].map((property) => nodeSchema.safeParse(property).data?.const);
  return constants.find((constant) => typeof constant === 'string') ?? null;
}

function valuesOf(node: Node): string {
  const parts = alternativesOf(node).map((each) => {
    if (each.const !== undefined) return String(each.const);
    if (each.enum !== undefined) return each.enum.map(String).join(' | ');
    if (each.properties !== undefined) return nameOf(each) ?? 'map';
    if (each.type === 'array') return `list of ${valuesOf(nodeSchema.parse(each.items ?? {}))}`;
    if (each.type === 'object') return 'map';
    return each.type === undefined ? 'any' : [each.type].flat().join(' | ');
  });
  return [...new Set(parts)].join(' | ');
}
