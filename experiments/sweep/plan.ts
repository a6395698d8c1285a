import { sha256 } from '../../src/content-hash.ts';
import { counted, grouped } from '../../src/counted.ts';
import { entryOf } from '../../src/entry-of.ts';
import { InputError } from '../../src/errors.ts';
import { isPlainObject, type PlainObject } from '../config/overrides.ts';
import { type Member, memberOf, type OpenedExperiment } from '../kinds/experiment-kind.ts';
import { kindOf } from '../kinds/kinds.ts';
import { type Expression, parsedExpression } from './expression.ts';
import { type Point, samplePoints } from './sample.ts';
import { type LoadedSweep, type SweepFile, trialsAtMost } from './sweep-file.ts';

/** A setting of what is swept. Its name is the hash of its resolved configuration. */
export interface Setting extends Member {
  /** For people. */
  readonly label: string;
  /** Values of the swept and the derived paths. */
  readonly point: Point;
}

/** An experiment whose members are the settings of a sweep. */
export interface SweepPlan extends OpenedExperiment {
  readonly members: readonly Setting[];
  readonly sweep: SweepFile;
  /** The objective: a metric or an expression of metrics. */
  readonly aim: string;
  /** Swept and derived paths, in the order of the file. */
  readonly paths: readonly string[];
  /** The source of the plan. */
  readonly loaded: LoadedSweep;
}

export function isSweep(experiment: OpenedExperiment): experiment is SweepPlan {
  return 'sweep' in experiment;
}

/**
 * Every trial of a sweep. Nothing is read but the files, and nothing is run.
 * @throws InputError for settings that the experiment refuses, or an experiment without a development part
 */
export async function planSweep(loaded: LoadedSweep, { runs }: { runs: string }): Promise<SweepPlan> {
  const { sweep, experiment, source } = loaded;
  const { name, description } = sweep;
  const kind = await kindOf(experiment.kind, source);
  const aim = sweep.objective.maximise ?? kind.objective;
  checkObjective(sweep, { aim, metrics: kind.metrics.map(({ name }) => name) });
  const common = { ...experiment, name, description: '', ...(sweep.seeds !== null && { seeds: sweep.seeds }) };
  const { config: base, seeds } = await kind.resolve(common, source);
  const derived = Object.entries(sweep.derived).map(([path, text]) => [path, parsedExpression(text)] as const);
  const constraints = sweep.constraints.map(parsedExpression);
  const complete = (point: Point): Point => {
    const values: Record<string, unknown> = { ...point };
    for (const [path, expression] of derived) {
      const value = expression.evaluate(settingReader(values, base));
      // 1 − 0.8 − 0.2 is −5.6e−17; `+ 0` makes 0 of −0.
      values[path] = typeof value === 'number' ? Number(value.toFixed(12)) + 0 : value;
    }
    return values;
  };
  const isAllowed = (point: Point) => {
    const read = settingReader(complete(point), base);
    return constraints.every((constraint) => truth(constraint, { read, place: `${sweep.name}: constraints` }));
  };

  const points = samplePoints(sweep.space, { method: sweep.method, isAllowed });
  if (points.length * seeds.length > trialsAtMost)
    throw new InputError(
      `${sweep.name}: ${grouped(points.length)} settings with ${counted(seeds.length, 'seed')} each are ${grouped(points.length * seeds.length)} trials, and a sweep has at most ${grouped(trialsAtMost)}; give fewer values, steps or seeds, or draw settings with method: { name: random, trials: 100 }`,
    );
  const head = { name, description, kind, runs };
  const settings = new Map<string, Setting>();
  for (const drawn of points) {
    const point = complete(drawn);
    const raw = Object.entries(point).reduce<PlainObject>(
      (config, [path, value]) => replaced(config, path.split('.'), value),
      common,
    );
    const label = describe(point);
    const resolved = await kind.resolve(raw, `${source} with ${label}`);
    if (resolved.sweepProblem !== null) throw new InputError(`${source} with ${label}: ${resolved.sweepProblem}`);
    const id = idOf(resolved.config);
    if (!settings.has(id)) settings.set(id, { ...memberOf(head, { name: id, label, resolved }), label, point });
  }
  const paths = [...Object.keys(sweep.space), ...Object.keys(sweep.derived)];
  return { ...head, members: [...settings.values()], sweep, aim, paths, loaded };
}

/** `6 trials: 3 settings, 2 seeds each`. */
export function sizeOf({ members }: SweepPlan): string {
  const seeds = members[0].trials.length;
  const settings = counted(members.length, 'setting');
  return `${counted(members.length * seeds, 'trial')}: ${settings}, ${counted(seeds, 'seed')} each`;
}

/** `alpha=0.5 beta=0.25`: the last part of each path, or more of it where two would read the same. */
export function describe(point: Point): string {
  const names = shortNames(Object.keys(point));
  return Object.entries(point)
    .map(([path, value]) => `${names.get(path)}=${shownValue(value)}`)
    .join(' ');
}

/** A text as it is, anything else as JSON. */
export function shownValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The shortest end of each path that no other path ends in. */
export function shortNames(paths: readonly string[]): Map<string, string> {
  return new Map(
    paths.map((path) => {
      const parts = path.split('.');
      const ends = parts.map((_, index) => parts.slice(parts.length - 1 - index).join('.'));
      const unique = ends.find((end) => paths.every((other) => other === path || !endsIn(other, end)));
      return [path, unique ?? path];
    }),
  );
}

function endsIn(path: string, end: string): boolean {
  return path === end || path.endsWith(`.${end}`);
}

/** Before anything runs: the objective is first needed when all trials are done. */
function checkObjective(
  { name, objective }: SweepFile,
  { aim, metrics }: { aim: string; metrics: readonly string[] },
): void {
  for (const text of [aim, ...objective.where])
    for (const metric of parsedExpression(text).names)
      if (!metrics.includes(metric))
        throw new InputError(
          `${name}: objective: ${JSON.stringify(text)} names ${metric}, which is no metric; there are ${metrics.join(', ')}`,
        );
  // Metrics are numbers, and whether a comparison or a number comes of them does not depend on which.
  for (const text of objective.where)
    truth(parsedExpression(text), { read: () => 1, place: `${name}: objective.where` });
}

/** @throws InputError for an expression that is no condition, which would silently leave out every setting */
function truth(
  { text, evaluate }: Expression,
  { read, place }: { read: (name: string) => unknown; place: string },
): boolean {
  const value = evaluate(read);
  if (typeof value === 'boolean') return value;
  throw new InputError(
    `${place}: ${JSON.stringify(text)} comes to ${JSON.stringify(value)}, and is no condition; compare something, such as er <= 0.3`,
  );
}

/** Reads a name as a swept path, as the end of exactly one of them, or as a path of the experiment. */
function settingReader(point: Point, base: PlainObject): (name: string) => unknown {
  return (name) => {
    if (Object.hasOwn(point, name)) return point[name];
    const ending = Object.keys(point).filter((path) => endsIn(path, name));
    if (ending.length === 1) return point[ending[0]];
    return name
      .split('.')
      .reduce<unknown>((value, key) => (isPlainObject(value) ? entryOf(value, key) : undefined), base);
  };
}

function replaced(config: PlainObject, [key, ...below]: readonly string[], value: unknown): PlainObject {
  const inner = config[key];
  // Another encoder, say, has other options than the one before.
  if (below.length === 0 && key === 'name' && inner !== undefined && inner !== value) return { name: value };
  return { ...config, [key]: below.length === 0 ? value : replaced(isPlainObject(inner) ? inner : {}, below, value) };
}

/** Neither the name of an experiment nor which seeds there are changes a result. */
function idOf({ name: _, description: __, seeds: ___, ...config }: PlainObject): string {
  return sha256({ config, seed: null }).slice(0, 12);
}
