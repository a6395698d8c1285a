import { expect, it } from 'vitest';
import { placementsIn } from '../../../experiments/backends/gpu-placements.ts';

it('counts the nodes of all graphs, and by their kinds those that are left to the processor', () => {
  const line = (text: string) =>
    `2026-11-27 08:14:19 [V:onnxruntime:, session_state.cc:1383 VerifyEachNodeIsAssignedToAnEp] ${text}`;
  const log = [
    line(' All nodes placed on [WebGpuExecutionProvider]. Number of nodes: 1430'),
    line(' Node(s) placed on [CPUExecutionProvider]. Number of nodes: 3'),
    line('  LogSoftmax (v67)'),
    line('  Sum (v212)'),
    line('  LogSoftmax (v257)'),
    line(' Node(s) placed on [WebGpuExecutionProvider]. Number of nodes: 880'),
    line('  Gather (v2)'),
  ].join('\n');
  expect(placementsIn(log)).toEqual({ nodes: 2313, onProcessor: { LogSoftmax: 2, Sum: 1 } });
});
