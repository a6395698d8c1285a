/** An option, or one value of an option, that an earlier version had. */
interface RemovedOption {
  /** The end of its dotted path in a configuration file. */
  readonly option: string;
  /** The value that was removed; the whole option where it is left out. */
  readonly value?: string;
  /** The sentence that ends the error: the version that removed the option, and what to use. */
  readonly advice: string;
}

const removedOptions: readonly RemovedOption[] = [];

/**
 * The advice for a removed option, or undefined for an option that never existed.
 * @param place its dotted path
 */
export function adviceOnRemovedOption(place: string, value: unknown): string | undefined {
  return removedOptions.find(
    (removed) => `.${place}`.endsWith(`.${removed.option}`) && (removed.value === undefined || removed.value === value),
  )?.advice;
}
