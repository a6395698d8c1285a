/** The user's input is wrong. The message has the problem, the value and the remedy. Exit code 1. */
export class InputError extends Error {
  override readonly name = 'InputError';
}

/** A service failed, even after retries. The message has the service, the problem and the remedy. Exit code 2. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}

/** A guarantee is violated, according to a monitor that the user asked. Exit code 4. */
export class GuaranteeViolated extends Error {
  override readonly name = 'GuaranteeViolated';
}

/**
 * The error for Earshot's own file in a form that this version does not read. There is no migration: the file must be
 * made again.
 * @param place file, and line in it
 */
export function notOurs(
  place: string,
  problem: string,
  remedy = 'run again (`train` and `sweep` with --restart), or restore the file',
): InputError {
  return new InputError(`${place} was made by another version of Earshot, or is damaged (${problem}): ${remedy}`);
}

const remedies: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full; free some space or choose a folder on another disk',
  EDQUOT: 'your disk quota is used up; free some space or choose a folder on another disk',
  EFBIG: 'the file would be larger than this system allows (see `ulimit -f`); raise the limit or choose another disk',
  EACCES: 'permission is denied; change the permissions of its folder or choose another one',
  EPERM: 'the system does not permit it; change the permissions of its folder or choose another one',
  EROFS: 'the disk is read-only; choose a folder that can be written',
  ENOENT: 'there is no such file or folder; correct the path or create the folder',
  ENOTDIR: 'part of its path is a file, not a folder; correct the path',
  EISDIR: 'it is a folder; give the path of a file',
  EBUSY: 'it is in use, as a working folder or a mount point is; choose another path, such as a folder within it',
  EEXIST: 'a file stands where a folder is needed; move the file away or choose another path',
};

/** Works on the disk, and throws an InputError with a remedy if that fails. @param what as of `diskError` */
export function onDisk<Result>(what: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw diskError(error, { what });
  }
}

/**
 * Turns a failed disk operation into an InputError with a remedy.
 * @param options.what the operation, after "cannot": such as `write 12 bytes to a.txt`
 * @returns the error to throw; an error that is not about the disk is returned unchanged
 */
export function diskError(error: unknown, { what }: { what: string }): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isOfPath = error instanceof Error && 'path' in error;
  const remedy = remedies[code] ?? (isOfPath && code !== '' ? 'the system refuses it; choose another path' : undefined);
  if (remedy === undefined) return error;
  return new InputError(`cannot ${what} (${code}): ${remedy}`, { cause: error });
}
