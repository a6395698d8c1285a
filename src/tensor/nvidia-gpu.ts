import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The first NVIDIA GPU of this machine, as its driver calls it; null where there is none. */
export function nvidiaGpu(): string | null {
  const name = askDriver('name');
  if (name !== null) return name;
  // The driver's device, where its program is not installed, as in small containers.
  return existsSync('/dev/nvidia0') ? 'an NVIDIA GPU' : null;
}

/** What the driver says of the first GPU; null where there is no driver or no GPU. */
export function askDriver(field: 'name' | 'memory.free'): string | null {
  try {
    const query = [`--query-gpu=${field}`, '--format=csv,noheader,nounits'];
    const said = execFileSync('nvidia-smi', query, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return said.split('\n')[0].trim() || null;
  } catch {
    return null;
  }
}
