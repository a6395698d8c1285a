/**
 * Lets only so many begin until as many are answered. Before that nobody knows whether the answers can be read, and whatever is under
 * way then is paid for.
 */
export class FirstAnswers {
  private begun = 0;
  private answered = 0;
  private readonly needed: number;
  private waiting: (() => void)[] = [];

  constructor(needed: number) {
    this.needed = needed;
  }

  /** Waits until one more may begin. */
  async begin(): Promise<void> {
    while (this.answered < this.needed && this.begun >= this.needed)
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.begun++;
  }

  /** One that had begun is answered, or failed without an answer, so that another takes its place. */
  settle({ isAnswered }: { isAnswered: boolean }): void {
    if (isAnswered) this.answered++;
    else this.begun--;
    this.wake();
  }

  /** Lets everyone begin. */
  open(): void {
    this.answered = this.needed;
    this.wake();
  }

  private wake(): void {
    const woken = this.waiting;
    this.waiting = [];
    for (const wake of woken) wake();
  }
}
