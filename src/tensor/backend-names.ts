/** Every backend, in the order in which `auto` tries them. */
export const backendNames = ['xla', 'tensorflow', 'onnx', 'wasm', 'cpu'] as const;

/** A backend as tfjs calls it. */
export type BackendName = (typeof backendNames)[number];
