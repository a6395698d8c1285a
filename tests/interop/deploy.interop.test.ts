import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runPython } from './python.ts';
import { installed } from './serving.ts';

const folder = join(import.meta.dirname, '../../docs/deploy');

describe('a template', () => {
  beforeAll(() => installed('shellcheck', 'shellcheck'));

  it.each(['sweep-slurm.sh', '../../benchmarks/xla-gpu.sh'])('that is a script has no warning: %s', (script) => {
    expect(execFileSync('shellcheck', [join(folder, script)], { encoding: 'utf8' })).toBe('');
  });

  it('for Kubernetes fits the schema', async () => {
    const requirements = join(import.meta.dirname, 'requirements-deploy.txt');
    const file = join(folder, 'sweep-kubernetes.yaml');
    const { code, out, errors } = await runPython(['-m', 'kubernetes_validate', '--strict', file], { requirements });
    expect(code, errors).toBe(0);
    expect((out + errors).match(/passed for resource/g)).toHaveLength(3);
  });
});
