import { InputError } from '../errors.ts';
import type { Projection } from './projection.ts';
import type { Rows } from './row-table.ts';

/*
 * Principal component analysis (Pearson 1901): the directions along which rows vary most. The covariance is added up in
 * double precision in plain JavaScript, so that the same rows give the same directions on every tensor backend.
 */

/**
 * The leading principal components of some rows.
 * @param options.inputs how many of a row's leading columns are projected
 * @throws InputError for more components than columns
 */
export async function principalComponents(
  { data, columns }: Rows,
  { components, inputs = columns }: { components: number; inputs?: number },
): Promise<Projection> {
  if (components > inputs)
    throw new InputError(`${components} components were asked for, and there are ${inputs} columns; ask for fewer`);
  const { EigenvalueDecomposition } = await import('ml-matrix');
  const covariance = covarianceOf({ data, columns }, inputs);
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(covariance, { assumeSymmetric: true });
  const order = realEigenvalues.map((_, index) => index).sort((a, b) => realEigenvalues[b] - realEigenvalues[a]);
  const weights = new Float32Array(inputs * components);
  for (let component = 0; component < components; component++)
    for (let input = 0; input < inputs; input++)
      weights[input * components + component] = eigenvectorMatrix.get(input, order[component]);
  const variance = (indices: readonly number[]) => indices.reduce((sum, index) => sum + realEigenvalues[index], 0);
  const total = variance(order);
  return {
    inputs,
    components,
    weights,
    explained: total > 0 ? variance(order.slice(0, components)) / total : 1,
  };
}

/**
 * Where rows stand along their leading principal components, around their mean; zero along components that they do not have. By the
 * products of the rows with each other, so that it costs little for few long rows.
 */
export async function principalScores(
  { data, columns }: Rows,
  { components }: { components: number },
): Promise<{ readonly scores: readonly Float64Array[]; readonly explained: number }> {
  const count = data.length / columns;
  if (count === 0) return { scores: [], explained: 1 };
  const { EigenvalueDecomposition } = await import('ml-matrix');
  const mean = new Float64Array(columns);
  for (let index = 0; index < data.length; index++) mean[index % columns] += data[index] / count;
  const centred = Array.from({ length: count }, (_, row) =>
    mean.map((average, column) => data[row * columns + column] - average),
  );
  const products = Array.from({ length: count }, () => new Float64Array(count));
  for (let row = 0; row < count; row++)
    for (let other = 0; other <= row; other++) {
      let sum = 0;
      for (let column = 0; column < columns; column++) sum += centred[row][column] * centred[other][column];
      products[row][other] = products[other][row] = sum;
    }
  const { realEigenvalues, eigenvectorMatrix } = new EigenvalueDecomposition(products, { assumeSymmetric: true });
  const order = realEigenvalues.map((_, index) => index).sort((a, b) => realEigenvalues[b] - realEigenvalues[a]);
  const leading = order.slice(0, components).map((index) => ({ index, variance: Math.max(0, realEigenvalues[index]) }));
  const total = realEigenvalues.reduce((sum, value) => sum + value, 0);
  return {
    scores: Array.from({ length: count }, (_, row) =>
      Float64Array.from({ length: components }, (__, component) => {
        const direction = leading[component];
        return direction === undefined
          ? 0
          : Math.sqrt(direction.variance) * eigenvectorMatrix.get(row, direction.index);
      }),
    ),
    explained: total > 0 ? leading.reduce((sum, { variance }) => sum + variance, 0) / total : 1,
  };
}

/** The covariance of the leading columns, divided by the number of rows. */
function covarianceOf({ data, columns }: Rows, inputs: number): Float64Array[] {
  const rows = data.length / columns;
  const mean = new Float64Array(inputs);
  for (let row = 0; row < rows; row++) for (let i = 0; i < inputs; i++) mean[i] += data[row * columns + i] / rows;
  const products = Array.from({ length: inputs }, () => new Float64Array(inputs));
  const centred = new Float64Array(inputs);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < inputs; i++) centred[i] = data[row * columns + i] - mean[i];
    for (let i = 0; i < inputs; i++) {
      const row = centred[i];
      const target = products[i];
      for (let j = i; j < inputs; j++) target[j] += row * centred[j];
    }
  }
  const covariance = Array.from({ length: inputs }, () => new Float64Array(inputs));
  for (let i = 0; i < inputs; i++)
    for (let j = i; j < inputs; j++) {
      covariance[i][j] = products[i][j] / rows;
      covariance[j][i] = products[i][j] / rows;
    }
  return covariance;
}
