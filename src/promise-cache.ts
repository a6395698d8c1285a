/** Computes the value of each key once for all concurrent callers. A failure is forgotten, so it can be retried. */
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
