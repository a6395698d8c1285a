import { expect, it } from 'vitest';
import { type ApiStruct, apiFunctions } from '../../../../src/tensor/xla/pjrt-api.ts';

/** The struct of a plugin: a function at each place, its pointer being where it stands, but those that are missing. */
function struct(options: { size?: number; major?: number; missing?: number } = {}): ApiStruct {
  const { size = 40 + 8 * 130, major = 0, missing } = options;
  return {
    size: () => size,
    int: (at) => (at === 32 ? major : 115),
    pointer(at) {
      if (at + 8 > size) throw new Error(`read at ${at}, beyond the struct of ${size} bytes`);
      return at === missing ? 0n : BigInt(at);
    },
  };
}

it('finds each function where pjrt_c_api.h has it', () => {
  const { version, functions } = apiFunctions(struct(), 'plugin.so');
  expect(version).toBe('0.115');
  // The first, one in the middle and the last that is called, counted in the header.
  expect(functions.get('Error_Destroy')).toBe(40n);
  expect(functions.get('Client_BufferFromHostBuffer')).toBe(40n + 8n * 22n);
  expect(functions.get('Executable_DeserializeAndLoad')).toBe(40n + 8n * 56n);
  expect(functions.get('Buffer_ToHostBuffer')).toBe(40n + 8n * 70n);
  expect(new Set(functions.values()).size).toBe(functions.size);
});

it('refuses a plugin of another API, and reads nothing beyond its struct', () => {
  expect(() => apiFunctions(struct({ major: 1 }), 'plugin.so')).toThrow(
    'plugin.so has version 1.115 of the PJRT API, and Earshot speaks 0.81; use a plugin of about the version 0.81',
  );
  expect(() => apiFunctions(struct({ size: 40 + 8 * 70 }), 'old.so')).toThrow('without PJRT_Buffer_ToHostBuffer');
  expect(() => apiFunctions(struct({ missing: 40 + 8 * 55 }), 'old.so')).toThrow(
    'without PJRT_LoadedExecutable_Execute',
  );
});
