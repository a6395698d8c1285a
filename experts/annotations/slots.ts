/** So many works at a time; others wait for their turn. */
export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Waits for a slot. Returns what gives it back. */
  async take(): Promise<() => void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    return () => {
      const next = this.waiting.shift();
      if (next === undefined) this.free++;
      else next();
    };
  }

  /** Waits until all that wait now have had their turn, and another could have one. */
  async vacancy(): Promise<void> {
    const giveBack = await this.take();
    giveBack();
  }
}
