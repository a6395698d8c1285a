/** Every backend, in the order in which `auto` tries them; it leaves webgpu to those who ask for it. */
export const backendNames = ['xla', 'tensorflow', 'webgpu', 'onnx', 'wasm', 'cpu'] as const;

/** A backend as tfjs calls it. */
export type BackendName = (typeof backendNames)[number];
