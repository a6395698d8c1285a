import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder } from '../src/atomic-file.ts';
import { InputError, onDisk } from '../src/errors.ts';
import { differences, exactJson, readJsonFile, writeJsonFile } from '../src/json-file.ts';
import { missingRun } from '../src/missing-path.ts';
import { provenance, type RunFacts, type RunRecord, runRecordSchema } from './run-record.ts';

/** Files that an interrupted or failed start leaves in a folder, which may still become a run. */
const leftovers = new Set(['run.json', 'checkpoints', 'failure.json']);
/** Settings of an experiment that do not change the results of a run. */
const shapesNothing: ReadonlySet<string> = new Set([
  'description',
  'seeds',
  'budget',
  'retry',
  'concurrency',
  'maxUnreadable',
  'retryUnreadable',
]);
const checkpointName = /^step-(\d+)\.safetensors$/;

/**
 * The folder of one training: what it leaves behind, and all that another process needs to resume it.
 *
 *   config.json      the resolved configuration; its presence means that the run has begun
 *   run.json         versions, backend, seed and hashes (`RunRecord`)
 *   metrics.jsonl    metrics by step
 *   checkpoints/     step-00000200.safetensors, …
 *   result.json      written last; its presence means that the run is finished
 */
export class RunDirectory {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * Starts a run, or resumes the folder's run if configuration, seed and hashes are equal. Another backend or version
   * is recorded, not refused.
   * @throws InputError for a folder that holds another run or other files, or if the disk refuses
   */
  static create(path: string, { config, facts }: { config: unknown; facts: RunFacts }): RunDirectory {
    const { startedAt = new Date().toISOString(), ...seedBackendHashes } = facts;
    const session = { ...provenance(), backend: facts.backend, device: facts.device, startedAt };
    const run = new RunDirectory(path);
    if (existsSync(run.file('config.json'))) {
      run.refuseOtherRun({ config, facts });
      if (run.isFinished()) return run;
      run.removeCutOffFiles();
      const record = run.readRecord();
      writeJsonFile(run.file('run.json'), { ...record, resumed: [...record.resumed, session] });
      return run;
    }
    run.refuseOccupiedFolder();
    makeFolder(run.file('checkpoints'));
    const record: RunRecord = { formatVersion: 1, ...session, ...seedBackendHashes, resumed: [] };
    writeJsonFile(run.file('run.json'), record);
    writeJsonFile(run.file('config.json'), config); // written last: its presence means that the run has begun
    return run;
  }

  /** Opens a run that was started before. @throws InputError for a folder without a config.json */
  static open(path: string): RunDirectory {
    const run = new RunDirectory(path);
    if (existsSync(run.file('config.json'))) return run;
    if (!existsSync(path)) throw new InputError(missingRun(path));
    const [below] = foldersWith(['config.json'], path, 2);
    const remedy = below === undefined ? 'the folder that a training made' : `a run that it holds, such as ${below}`;
    throw new InputError(`${path} is no run directory: it has no config.json; give ${remedy}`);
  }

  /** The path of the run's metrics, for `openMetricsLog`. */
  get metricsPath(): string {
    return this.file('metrics.jsonl');
  }

  /** @throws InputError if config.json cannot be read or does not fit the schema */
  readConfig<Config>(schema: z.ZodType<Config>): Config {
    return readJsonFile(this.file('config.json'), schema);
  }

  /** @throws InputError if run.json cannot be read or is not a run record */
  readRecord(): RunRecord {
    return readJsonFile(this.file('run.json'), runRecordSchema);
  }

  isFinished(): boolean {
    return existsSync(this.file('result.json'));
  }

  /** @throws InputError for an unfinished run, or a result that does not fit the schema */
  readResult(): unknown;
  readResult<Result>(schema: z.ZodType<Result>): Result;
  readResult(schema: z.ZodType = z.unknown()): unknown {
    if (!this.isFinished())
      throw new InputError(
        `${this.path} has no result.json: the run is not finished; start it again with the same config to resume it`,
      );
    return readJsonFile(this.file('result.json'), schema);
  }

  /** Writes result.json, which marks the run as finished. */
  writeResult(result: unknown): void {
    writeJsonFile(this.file('result.json'), result);
  }

  checkpointPath(step: number): string {
    return join(this.file('checkpoints'), `step-${String(step).padStart(8, '0')}.safetensors`);
  }

  /** The steps that have a checkpoint, ascending. */
  checkpointSteps(): number[] {
    const folder = this.file('checkpoints');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.flatMap((name) => checkpointName.exec(name)?.slice(1).map(Number) ?? []).sort((a, b) => a - b);
  }

  /** The newest checkpoint; null before the first. */
  latestCheckpoint(): { step: number; path: string } | null {
    const step = this.checkpointSteps().at(-1);
    return step === undefined ? null : { step, path: this.checkpointPath(step) };
  }

  /** The newest checkpoint. @throws InputError before the first checkpoint, and after the last was deleted */
  trainedCheckpoint(): { step: number; path: string } {
    const latest = this.latestCheckpoint();
    if (latest !== null) return latest;
    throw new InputError(
      this.isFinished()
        ? `${this.path} has no checkpoint any more (a sweep with --keep results leaves none); train it again, or give the folder of another run`
        : `${this.path} has no checkpoint yet; train it first, or give the folder of another run`,
    );
  }

  /** Deletes all but the newest `keepLast` checkpoints, at least 1. */
  pruneCheckpoints({ keepLast }: { keepLast: number }): void {
    for (const step of this.checkpointSteps().slice(0, -keepLast)) rmSync(this.checkpointPath(step), { force: true });
  }

  /** Removes checkpoints that a killed process was writing. */
  private removeCutOffFiles(): void {
    const folder = this.file('checkpoints');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    for (const name of names) if (name.endsWith('.tmp')) rmSync(join(folder, name), { force: true });
  }

  private file(name: string): string {
    return join(this.path, name);
  }

  /** Lists settings that differ from the run's as `path (there x, now y)`, except those that do not change results. */
  otherSettings(config: unknown): string[] {
    const shaping = (value: unknown) => {
      const entries = Object.entries(z.looseObject({}).parse(value));
      return Object.fromEntries(entries.filter(([key]) => !shapesNothing.has(key)));
    };
    return differences(shaping(this.readConfig(z.unknown())), shaping(JSON.parse(exactJson(config, 'config'))));
  }

  private refuseOtherRun({ config, facts }: { config: unknown; facts: RunFacts }): void {
    const record = this.readRecord();
    const changed = [
      ...this.otherSettings(config),
      ...differences({ seed: record.seed, hashes: record.hashes }, { seed: facts.seed, hashes: facts.hashes }),
    ];
    if (changed.length > 0)
      throw new InputError(
        `${this.path} already holds another run; it differs in ${changed.join(', ')}. Restore those values to go on with it, give another --name to make a run beside it, or --restart to replace it`,
      );
  }

  private refuseOccupiedFolder(): void {
    const present = existsSync(this.path)
      ? onDisk(`use ${this.path} as a run directory`, () => readdirSync(this.path))
      : [];
    const foreign = present.filter((name) => !name.startsWith('.') && !leftovers.has(name));
    if (foreign.length > 0)
      throw new InputError(
        `${this.path} is not empty (${foreign.slice(0, 3).join(', ')}) and holds no run; choose a new directory`,
      );
  }
}

/** The folders with one of these files, in a folder and at most so many levels below it, in the order of their names. */
export function foldersWith(names: readonly string[], folder: string, levels: number): string[] {
  // A link may lead nowhere.
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  if (names.some((name) => existsSync(join(folder, name)))) return [folder];
  if (levels === 0) return [];
  return onDisk(`read the folder ${folder}`, () => readdirSync(folder))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap((name) => foldersWith(names, join(folder, name), levels - 1));
}
