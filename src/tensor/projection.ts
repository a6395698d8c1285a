/** A linear map to the leading components. The mean is not subtracted, because the policy standardises its states. */
export interface Projection {
  readonly inputs: number;
  readonly components: number;
  /** Row-major [inputs, components], orthonormal columns, the direction of most variance first. */
  readonly weights: Float32Array;
  /** Share of the rows' variance that the components keep, 0 … 1. */
  readonly explained: number;
}

/** Rows of `inputs` numbers each as rows of `components`: row-major [rows, components]. */
export function projected(
  data: Float32Array,
  { inputs, components, weights }: Pick<Projection, 'inputs' | 'components' | 'weights'>,
): Float32Array {
  const rows = data.length / inputs;
  const result = new Float32Array(rows * components);
  const sum = new Float64Array(components);
  for (let row = 0; row < rows; row++) {
    sum.fill(0);
    for (let input = 0; input < inputs; input++) {
      const value = data[row * inputs + input];
      if (value === 0) continue;
      for (let component = 0; component < components; component++)
        sum[component] += value * weights[input * components + component];
    }
    result.set(sum, row * components);
  }
  return result;
}
