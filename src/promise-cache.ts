/**
 * Computes the value of each key once, however many ask for it at the same time. A failure is forgotten, so that the next
 * one who asks tries again.
 */
export class PromiseCache<Value> {
  private readonly promises = new Map<string, Promise<Value>>();

  get(key: string, compute: () => Promise<Value>): Promise<Value> {
    const cached = this.promises.get(key);
    if (cached !== undefined) return cached;
    const promise = compute();
    this.promises.set(key, promise);
    promise.catch(() => this.promises.delete(key));
    return promise;
  }

  delete(key: string): void {
    this.promises.delete(key);
  }
}
