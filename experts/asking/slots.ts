/**
 * So many works at a time; others wait for their turn. Until the first `trial` are answered no more than that are begun:
 * before, nobody knows whether the answers can be read, and whatever is under way is paid for.
 */
export class Slots {
  private readonly count: number;
  private readonly trial: number;
  private underWay = 0;
  private answered = 0;
  private waiting: (() => void)[] = [];

  constructor({ count, trial }: { count: number; trial: number }) {
    this.count = count;
    this.trial = trial;
  }

  async take(): Promise<void> {
    while (this.underWay >= this.most()) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.underWay++;
  }

  /** One without an answer leaves its place in the trial to another. */
  giveBack({ isAnswered }: { isAnswered: boolean }): void {
    this.underWay--;
    if (isAnswered) this.answered++;
    const woken = this.waiting;
    this.waiting = [];
    for (const wake of woken) wake();
  }

  private most(): number {
    const untried = this.trial - this.answered;
    return untried > 0 ? Math.min(this.count, untried) : this.count;
  }
}
