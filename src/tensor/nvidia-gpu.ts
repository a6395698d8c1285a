import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The first NVIDIA GPU of this machine, as its driver calls it; null where there is none. */
export function nvidiaGpu(): string | null {
  try {
    const query = ['--query-gpu=name', '--format=csv,noheader,nounits'];
    const said = execFileSync('nvidia-smi', query, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const name = said.split('\n')[0].trim();
    if (name !== '') return name;
  } catch {
    // No driver, or no GPU.
  }
  // The driver's device, where its program is not installed, as in small containers.
  return existsSync('/dev/nvidia0') ? 'an NVIDIA GPU' : null;
}
