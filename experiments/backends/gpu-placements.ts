import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { launcher } from '../launcher.ts';

/** Where the nodes of a training step's graphs run. */
export interface Placements {
  readonly nodes: number;
  /** Those that the GPU's provider leaves to the processor, by their kinds. */
  readonly onProcessor: Readonly<Record<string, number>>;
}

/** Runs iterations of small agents on webgpu in a process of its own, whose log says where ONNX Runtime placed the nodes. */
export async function gpuPlacements(): Promise<Placements> {
  const { stderr } = await promisify(execFile)(process.execPath, [launcher, 'doctor', 'gpu', '--only-iterate'], {
    env: { ...process.env, EARSHOT_ONNX_LOG: 'verbose' },
    maxBuffer: 2 ** 28,
  });
  return placementsIn(stderr);
}

/** What the verbose log of ONNX Runtime says of all its graphs. */
export function placementsIn(log: string): Placements {
  const onProcessor: Record<string, number> = {};
  let nodes = 0;
  let isProcessor = false;
  for (const line of log.split('\n')) {
    const group = /placed on \[(\w+)\]\. Number of nodes: (\d+)/.exec(line);
    if (group !== null) {
      isProcessor = group[1] === 'CPUExecutionProvider';
      nodes += Number(group[2]);
      continue;
    }
    const [, kind] = /VerifyEachNodeIsAssignedToAnEp\] {3}(\w+) \(/.exec(line) ?? [];
    if (isProcessor && kind !== undefined) onProcessor[kind] = (onProcessor[kind] ?? 0) + 1;
  }
  return { nodes, onProcessor };
}
