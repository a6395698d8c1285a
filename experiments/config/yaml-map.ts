import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { diskError, InputError } from '../../src/errors.ts';
import { missingPath } from '../../src/missing-path.ts';
import { parseYaml } from '../../src/yaml.ts';
import { isPlainObject, type PlainObject } from './overrides.ts';

/**
 * The map in a YAML file, without defaults.
 * @param options.what the kind of file, such as "experiment"
 * @param options.holds the content of its map
 * @throws InputError for an unreadable file or other content
 */
export async function readYamlMap(path: string, options: { what: string; holds: string }): Promise<PlainObject> {
  if (!existsSync(path)) throw new InputError(missingPath(path, (other) => /\.ya?ml$/i.test(other)));
  const text = await readFile(path, 'utf8').catch((error) => {
    throw diskError(error, { what: `read the ${options.what} ${path}` });
  });
  const value = parseYaml(text, `${path} is`);
  if (isPlainObject(value)) return value;
  throw new InputError(`${path} must hold a map ${options.holds}`);
}
