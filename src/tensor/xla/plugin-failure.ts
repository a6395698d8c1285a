/*
 * What a person can do about an error of a plugin. The messages are those of the system's loader, CUDA and XLA.
 */

const processor = 'or use the processor with --set backend=onnx';

/** Why a plugin could not be started. */
export function openFailure(message: string, plugin: string): string {
  const [line] = message.split('\n');
  const [, missing] =
    /([\w.+-]+\.(?:so[\d.]*|dylib|dll)):? (?:cannot open shared object file|not found)/.exec(message) ?? [];
  if (missing !== undefined && !plugin.endsWith(missing))
    return `${plugin} needs the library ${missing}, which is missing; install ${runtimeOf(plugin)}, or put its folder into LD_LIBRARY_PATH`;
  if (/cannot open shared object file|no such file|is a directory/i.test(message))
    return `there is no plugin ${plugin}; install one with \`earshot backend install xla --device …\``;
  if (/GLIBC(XX)?_[\d.]+' not found/.test(message))
    return `${plugin} was built for a newer system (${line}); use a newer distribution, ${processor}`;
  if (
    /invalid ELF header|wrong ELF class|incompatible architecture|not a mach-o|not a valid Win32|file too short/i.test(
      message,
    )
  )
    return `${plugin} was not built for this machine, ${process.platform} on ${process.arch} (${line}); choose another --device, or another file with --plugin`;
  if (/undefined symbol.*GetPjrtApi|cannot find function 'GetPjrtApi'/i.test(message))
    return `${plugin} is no PJRT plugin, for it has no function GetPjrtApi; name a plugin such as xla_cuda_plugin.so with --plugin`;
  if (/unexpected PJRT_\w+ size/i.test(message))
    return `${plugin} speaks another version of the PJRT API (${line}); use one such as \`earshot backend install xla\` downloads`;
  if (/driver version is insufficient|driver.*too old|INSUFFICIENT_DRIVER|forward compat/i.test(message))
    return `the GPU's driver is too old for ${plugin} (${line}); update the driver, or install --device cuda12`;
  if (
    /no visible .*devices|no supported devices|found no device|no such device|no .*devices? (were |was )?found|CUDA_ERROR_NO_DEVICE/i.test(
      message,
    )
  )
    return `${plugin} found no device (${line}); check that the driver shows one (\`nvidia-smi\`, \`rocminfo\`), pass it to the container, ${processor}`;
  return `${plugin} could not be started: ${message.trim()}`;
}

/** What has the libraries beside a plugin. */
function runtimeOf(plugin: string): string {
  if (plugin.includes('rocm')) return 'ROCm 7 of AMD';
  return plugin.includes('oneapi') ? 'the oneAPI runtime of Intel' : 'it with `earshot backend install xla --device …`';
}

/** Why a step failed on a device. */
export function runFailure({ message, isOutOfMemory }: { message: string; isOutOfMemory: boolean }): string {
  const [line] = message.split('\n');
  return isOutOfMemory
    ? `the device has too little memory for one run (${line}). Close what else uses it, choose a smaller batch or encoder, or use --set backend=onnx.`
    : `the device failed during a step (${line}). Give the same command again: it resumes from the last checkpoint. If it fails again, use --set backend=onnx.`;
}
