/**
 * Values by text, up to a total size: two generations, of which the older is dropped when the younger is half of the
 * size allowed. What is in use moves to the younger one, so a working set that fits stays.
 */
export class BoundedCache<Value> {
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();
  private youngSize = 0;
  private readonly maximumSize: number;
  private readonly sizeOf: (value: Value) => number;

  constructor(options: { maximumSize: number; sizeOf: (value: Value) => number }) {
    this.maximumSize = options.maximumSize;
    this.sizeOf = options.sizeOf;
  }

  get(key: string): Value | undefined {
    const found = this.young.get(key);
    if (found !== undefined) return found;
    const aged = this.old.get(key);
    if (aged !== undefined) this.set(key, aged);
    return aged;
  }

  set(key: string, value: Value): void {
    this.old.delete(key);
    if (!this.young.has(key)) this.youngSize += this.sizeOf(value);
    this.young.set(key, value);
    if (2 * this.youngSize <= this.maximumSize) return;
    this.old = this.young;
    this.young = new Map();
    this.youngSize = 0;
  }

  /** Values held. */
  get count(): number {
    return this.young.size + this.old.size;
  }
}
