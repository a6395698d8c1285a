import type { Parity } from '../../checkpoints/bundle/parity.ts';

/** `manifest.json` of a selector's bundle, without the hashes. */
export interface SelectorManifest {
  readonly format: 'earshot-selector';
  readonly formatVersion: number;
  readonly madeBy: { readonly earshot: string; readonly commit: string | null };
  readonly levels: Readonly<Record<string, LevelDefinition>>;
  readonly rule: string;
  readonly encoder: unknown;
  readonly taskModels: { readonly stance: unknown; readonly veracity: unknown };
  readonly training: {
    readonly seed: number;
    readonly epochs: number;
    readonly claims: { readonly labelled: number; readonly unlabelled: number };
    readonly experiment: unknown;
    readonly hashes: Readonly<Record<string, string>>;
  };
  /** Null where the run was not finished. */
  readonly measures: unknown;
  readonly parity: Readonly<Record<string, Parity>>;
}

export interface LevelDefinition {
  readonly onnx: string;
  readonly columns: number;
  /** Where each number of a state comes from, in their order. */
  readonly fields: readonly { name: string; from: number; count: number; meaning: string }[];
  /** Of the task model, in the order of the distribution. */
  readonly classes: readonly string[];
}
