import type { ClaimTable } from './claim-table.ts';

/** The questions that nobody else asks because of this run. */
export class HeldClaims {
  private readonly table: Pick<ClaimTable, 'take' | 'release'>;
  private readonly held = new Set<string>();

  constructor(table: Pick<ClaimTable, 'take' | 'release'>) {
    this.table = table;
  }

  /** @returns which of the keys are this run's to ask about */
  take(keys: readonly string[]): ReadonlySet<string> {
    const taken = this.table.take(keys);
    for (const key of taken) this.held.add(key);
    return taken;
  }

  /** Gives one up that is not answered, or answered elsewhere. */
  release(key: string): void {
    if (this.held.delete(key)) this.table.release([key]);
  }

  /** Its judgement is there. The commit of it gives the claim up, and no earlier: others must find the judgement then. */
  isAnswered(key: string): void {
    this.held.delete(key);
  }

  releaseAll(): void {
    this.table.release([...this.held]);
  }
}
