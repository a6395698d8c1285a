/*
 * Where the functions of the PJRT C API stand (pjrt_c_api.h of OpenXLA). The API is one struct of pointers to functions, to which
 * versions append; each function takes a struct of arguments that begins with its size. Only what Earshot calls is here.
 */

/** Places in the list of functions. */
const places = {
  Error_Destroy: 0,
  Error_Message: 1,
  Error_GetCode: 2,
  Plugin_Initialize: 3,
  Event_Destroy: 5,
  Event_Await: 8,
  Client_Create: 10,
  Client_PlatformName: 12,
  Client_PlatformVersion: 14,
  Client_AddressableDevices: 16,
  Client_Compile: 20,
  Client_BufferFromHostBuffer: 22,
  DeviceDescription_Kind: 26,
  Device_GetDescription: 29,
  Device_MemoryStats: 34,
  Executable_Destroy: 40,
  Executable_NumOutputs: 44,
  Executable_Serialize: 49,
  LoadedExecutable_Destroy: 50,
  LoadedExecutable_GetExecutable: 51,
  LoadedExecutable_Execute: 55,
  Executable_DeserializeAndLoad: 56,
  Buffer_Destroy: 58,
  Buffer_ToHostBuffer: 70,
} as const;

export type ApiFunction = keyof typeof places;

const firstFunction = 40;
const pointerBytes = 8;
/** The version whose header this follows; a plugin of another minor version answers, too. */
const apiVersion = { major: 0, minor: 81 } as const;

/** Numbers of the struct that `GetPjrtApi` returns. */
export interface ApiStruct {
  size(at: number): number;
  int(at: number): number;
  pointer(at: number): bigint;
}

/**
 * Where each function is.
 * @throws Error where the plugin's API is another, or it lacks a function
 */
export function apiFunctions(
  struct: ApiStruct,
  plugin: string,
): { version: string; functions: Map<ApiFunction, bigint> } {
  const [size, major, minor] = [struct.size(0), struct.int(32), struct.int(36)];
  const version = `${major}.${minor}`;
  const ours = `${apiVersion.major}.${apiVersion.minor}`;
  const remedy = `use a plugin of about the version ${ours}, such as the one that \`earshot backend install xla\` downloads`;
  if (major !== apiVersion.major)
    throw new Error(`${plugin} has version ${version} of the PJRT API, and Earshot speaks ${ours}; ${remedy}`);
  const functions = new Map<ApiFunction, bigint>();
  for (const name of Object.keys(places).filter(isApiFunction)) {
    const at = firstFunction + pointerBytes * places[name];
    const pointer = at + pointerBytes <= size ? struct.pointer(at) : 0n;
    if (pointer === 0n)
      throw new Error(`${plugin} has version ${version} of the PJRT API, without PJRT_${name}; ${remedy}`);
    functions.set(name, pointer);
  }
  return { version, functions };
}

function isApiFunction(name: string): name is ApiFunction {
  return name in places;
}
