import { basename, resolve } from 'node:path';
import type { Policy } from '../../checkpoints/bundle/policy.ts';
import type { Prefix } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import { HttpProblem, unavailable } from './http-problem.ts';
import type { Asked } from './verdicts.ts';

/** Where a model is, as the command line names it: `folder`, or `name=folder`. */
export interface ModelSource {
  readonly name: string;
  readonly folder: string;
}

/** A bundle that passed its self-test. A request keeps the one that it began with, whatever is loaded meanwhile. */
export interface ServedBundle {
  readonly name: string;
  /** SHA-256 of its manifest, which holds those of all other files. */
  readonly sha256: string;
  readonly policy: Policy;
  readonly maxPosts: number;
  /** What a detector says of the posts seen at the stop. */
  readonly verdictOf: (prefix: Prefix) => Promise<Asked>;
}

const modelName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** @throws InputError for a name that cannot be part of an address, and for two bundles of one name */
export function modelSources(words: readonly string[]): ModelSource[] {
  const sources = words.map((word) => {
    const [, name, folder] = /^([^=/]+)=(.+)$/.exec(word) ?? [null, basename(resolve(word)), word];
    if (!modelName.test(name))
      throw new InputError(
        `${JSON.stringify(name)} cannot name a model: names have up to 64 letters, digits, dots, dashes and underscores; write name=${folder}`,
      );
    return { name, folder };
  });
  for (const [index, { name }] of sources.entries())
    if (sources.findIndex((other) => other.name === name) !== index)
      throw new InputError(`two bundles are called ${name}; give one of them another name, such as ${name}-2=<folder>`);
  return sources;
}

/** The bundles that are served, by name. Requests choose among these names and never give a path. */
export class Models {
  readonly names: readonly string[];
  private readonly sources: ReadonlyMap<string, ModelSource>;
  private readonly load: (source: ModelSource) => Promise<ServedBundle>;
  private readonly loaded = new Map<string, ServedBundle>();
  private readonly loading = new PromiseCache<ServedBundle>();

  /** @param load reads a bundle, checks its files by their hashes and decides its golden threads */
  constructor(sources: readonly ModelSource[], load: (source: ModelSource) => Promise<ServedBundle>) {
    this.names = sources.map(({ name }) => name);
    this.sources = new Map(sources.map((source) => [source.name, source]));
    this.load = load;
  }

  /** Whether every bundle has passed its self-test. */
  get areReady(): boolean {
    return this.loaded.size === this.sources.size;
  }

  isLoaded(name: string): boolean {
    return this.loaded.has(name);
  }

  /** @throws InputError for the first bundle that cannot be used */
  async loadAll(): Promise<void> {
    for (const name of this.names) await this.reload(name);
  }

  /**
   * Loads a bundle anew from its folder. Until that has succeeded, and where it fails, the one before it stays.
   * @throws HttpProblem (404) for a name that is not served, InputError for a bundle that cannot be used
   */
  async reload(name: string): Promise<ServedBundle> {
    const source = this.sourceOf(name);
    const bundle = await this.loading.get(name, () => this.load(source)).finally(() => this.loading.delete(name));
    this.loaded.set(name, bundle);
    return bundle;
  }

  /** @throws HttpProblem 404 for a name that is not served, 503 while it is being loaded */
  get(name: string): ServedBundle {
    this.sourceOf(name);
    const bundle = this.loaded.get(name);
    if (bundle === undefined) throw unavailable(`the model ${name} is still being loaded and tested; try again soon`);
    return bundle;
  }

  /** The model that a request names, or the first, which is the only one where requests may leave it out. */
  chosen(name: string | undefined): ServedBundle {
    return this.get(name ?? this.names[0]);
  }

  private sourceOf(name: string): ModelSource {
    const source = this.sources.get(name);
    if (source !== undefined) return source;
    throw new HttpProblem(404, `there is no model of this name; served are ${this.names.join(', ')}`, {
      field: 'model',
    });
  }
}
