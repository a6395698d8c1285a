/** The answer to a request that is wrong or cannot be served now. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  readonly statusCode: number;
  /** The place in the request, such as `posts.2.time`; null for the whole. */
  readonly field: string | null;

  constructor(statusCode: number, message: string, { field = null }: { field?: string | null } = {}) {
    super(message);
    this.statusCode = statusCode;
    this.field = field;
  }
}

/** For failures that may pass. */
export function unavailable(message: string): HttpProblem {
  return new HttpProblem(503, message);
}
