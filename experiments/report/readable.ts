import { InputError } from '../../src/errors.ts';

/** What could be read, and why it could not: a page is written without what is gone. */
export async function readable<Value>(
  read: () => Promise<Value>,
): Promise<{ value: Value; problem: null } | { value: null; problem: string }> {
  try {
    return { value: await read(), problem: null };
  } catch (error) {
    if (error instanceof InputError) return { value: null, problem: error.message };
    throw error;
  }
}
