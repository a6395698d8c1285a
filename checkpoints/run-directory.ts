import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { diskError, InputError } from '../src/errors.ts';
import { differences, exactJson, readJsonFile, writeJsonFile } from './json-file.ts';
import { provenance, type RunFacts, type RunRecord, runRecordSchema } from './run-record.ts';

/** What may lie in a folder that becomes a run: left by a start that was cut off before `config.json`. */
const leftovers = new Set(['run.json', 'checkpoints']);
const checkpointName = /^step-(\d+)\.safetensors$/;

/** What one training leaves behind, and all that another process needs to go on with it. */
export class RunDirectory {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * Starts a run, or goes on with the one that stands there if it is the same: config, seed and hashes must agree,
   * since a run resumed on other data is neither run. Another backend or version is recorded, not refused.
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
    try {
      mkdirSync(run.file('checkpoints'), { recursive: true });
    } catch (error) {
      throw diskError(error, { what: `make the run directory ${path}` });
    }
    const record: RunRecord = { formatVersion: 1, ...session, ...seedBackendHashes, resumed: [] };
    writeJsonFile(run.file('run.json'), record);
    writeJsonFile(run.file('config.json'), config); // the last of the two: its presence means that the run has begun
    return run;
  }

  static open(path: string): RunDirectory {
    const run = new RunDirectory(path);
    if (!existsSync(run.file('config.json')))
      throw new InputError(`${path} is no run directory: it has no config.json; give the folder that a training made`);
    return run;
  }

  get metricsPath(): string {
    return this.file('metrics.jsonl');
  }

  /** Wall-clock times are kept apart, so that `metrics.jsonl` is the same for a resumed and an uninterrupted run. */
  get timingsPath(): string {
    return this.file('timings.jsonl');
  }

  readConfig<Config>(schema: z.ZodType<Config>): Config {
    return readJsonFile(this.file('config.json'), schema);
  }

  readRecord(): RunRecord {
    return readJsonFile(this.file('run.json'), runRecordSchema);
  }

  isFinished(): boolean {
    return existsSync(this.file('result.json'));
  }

  readResult(): unknown;
  readResult<Result>(schema: z.ZodType<Result>): Result;
  readResult(schema: z.ZodType = z.unknown()): unknown {
    if (!this.isFinished())
      throw new InputError(
        `${this.path} has no result.json: the run is not finished; start it again with the same config to resume it`,
      );
    return readJsonFile(this.file('result.json'), schema);
  }

  /** The very last thing a run does. */
  writeResult(result: unknown): void {
    writeJsonFile(this.file('result.json'), result);
  }

  /** Where the checkpoint made after `step` goes. */
  checkpointPath(step: number): string {
    return join(this.file('checkpoints'), `step-${String(step).padStart(8, '0')}.safetensors`);
  }

  /** Oldest first. */
  checkpointSteps(): number[] {
    const folder = this.file('checkpoints');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    return names.flatMap((name) => checkpointName.exec(name)?.slice(1).map(Number) ?? []).sort((a, b) => a - b);
  }

  latestCheckpoint(): { step: number; path: string } | null {
    const step = this.checkpointSteps().at(-1);
    return step === undefined ? null : { step, path: this.checkpointPath(step) };
  }

  /** Deletes all but the newest `keepLast` checkpoints. */
  pruneCheckpoints({ keepLast }: { keepLast: number }): void {
    if (!(keepLast >= 1)) throw new InputError(`keepLast is ${keepLast}; a run keeps at least its last checkpoint`);
    for (const step of this.checkpointSteps().slice(0, -keepLast)) rmSync(this.checkpointPath(step), { force: true });
  }

  /** Checkpoints that a killed process was still writing; nothing else ever removes them. */
  private removeCutOffFiles(): void {
    const folder = this.file('checkpoints');
    const names = existsSync(folder) ? readdirSync(folder) : [];
    for (const name of names) if (name.endsWith('.tmp')) rmSync(join(folder, name), { force: true });
  }

  private file(name: string): string {
    return join(this.path, name);
  }

  private refuseOtherRun({ config, facts }: { config: unknown; facts: RunFacts }): void {
    const record = this.readRecord();
    const changed = [
      ...differences(this.readConfig(z.unknown()), JSON.parse(exactJson(config, 'config'))),
      ...differences({ seed: record.seed, hashes: record.hashes }, { seed: facts.seed, hashes: facts.hashes }),
    ];
    if (changed.length > 0)
      throw new InputError(
        `${this.path} already holds another run; it differs in ${changed.join(', ')}. Choose another directory, restore those values to resume it, or delete the directory (\`earshot train --restart\` does)`,
      );
  }

  private refuseOccupiedFolder(): void {
    const present = existsSync(this.path) ? this.listing() : [];
    const foreign = present.filter((name) => !name.startsWith('.') && !leftovers.has(name));
    if (foreign.length > 0)
      throw new InputError(
        `${this.path} is not empty (${foreign.slice(0, 3).join(', ')}) and holds no run; choose a new directory`,
      );
  }

  private listing(): string[] {
    try {
      return readdirSync(this.path);
    } catch (error) {
      throw diskError(error, { what: `use ${this.path} as a run directory` });
    }
  }
}
