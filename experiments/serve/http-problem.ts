/** An answer that says what is wrong with a request, or why it cannot be answered now. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly statusCode: number;
  /** The place in the request, such as `posts.2.time`; null where it is the whole. */
  readonly field: string | null;

  constructor(statusCode: number, message: string, { field = null }: { field?: string | null } = {}) {
    super(message);
    this.statusCode = statusCode;
    this.field = field;
  }
}

/** The server cannot do this now, and may be able to later. */
export function unavailable(message: string): HttpProblem {
  return new HttpProblem(503, message);
}
