import { interopPython } from '/tmp/wt/serve/tests/interop/python.ts';

console.log(interopPython('/tmp/wt/serve/tests/interop/requirements-serving.txt'));
console.log(interopPython('/tmp/wt/serve/benchmarks/requirements-serving.txt'));
