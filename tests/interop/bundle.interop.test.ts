import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unicodeThreads } from '../../checkpoints/policy/golden-inputs.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { Random } from '../../src/tensor/random.ts';
import { createHashingEncoder } from '../../src/text/hashing-encoder.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { runPython } from './python.ts';

/**
 * Agents that read posts, one of them their mean; one whose student's confidence is part of the state, and one
 * detector-aware. The student and the detector of the last two read times.
 */
const variants = ['posts', 'pooled', 'student', 'aware'] as const;
const runOf = (variant: string) => `runs/tiny/${variant}/seed-1`;

let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-interop-'));
  const timed = { ...tiny.detector, timing: true };
  const student = { student: true, studentOptions: timed };
  writeExperiment(join(cwd, 'tiny.yaml'), {
    agent: { ...tiny.agent, iterations: 20 },
    variants: {
      posts: {},
      pooled: { state: { posts: 'mean' } },
      student: { state: student },
      aware: {
        detector: timed,
        state: {
          observesDetector: true,
          actsAt: 'queried-posts',
          querySchedule: { name: 'geometric', start: 2, factor: 2 },
        },
      },
    },
  });
  await succeed('train', 'tiny.yaml');
  // Two agents with a guarantee: one that asks at the stop only, and one that asks on the way.
  const fresh = synthesizeThreads({ threads: 90, seed: 9 }).map((thread) => ({ ...thread, id: `fresh-${thread.id}` }));
  writeFileSync(join(cwd, 'fresh.jsonl'), fresh.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const guarantee = ['--threads', 'fresh.jsonl', '--risk-level', '0.15'];
  await succeed('calibrate', runOf('pooled'), ...guarantee);
  await succeed('calibrate', runOf('aware'), ...guarantee);
  for (const variant of variants) await succeed('export', runOf(variant), '--out', variant);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

async function succeed(...words: string[]): Promise<string> {
  const { code, out, errors } = await earshot(words, { cwd });
  expect(code, errors).toBe(0);
  return out;
}

const parsed = (out: string) => out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

/** The test threads of the run, and threads in Chinese, Arabic, Thai and emoji. */
function threadLines(): string {
  const { parts } = JSON.parse(readFileSync(join(cwd, runOf('posts'), 'parts.json'), 'utf8'));
  const ids = new Set(parts.test.map(({ id }: { id: string }) => id));
  const tested = synthesizeThreads(tiny.data.synthetic).filter(({ id }) => ids.has(id));
  const unicode = unicodeThreads.map(({ id, texts }) => ({
    id,
    posts: texts.map((text, index) => ({ id: `${index}`, text })),
  }));
  return [...tested, ...unicode].map((thread) => `${JSON.stringify(thread)}\n`).join('');
}

describe.each(variants)('a bundle in Python (%s)', (variant) => {
  it('decides as its checkpoint does', async () => {
    writeFileSync(join(cwd, 'threads.jsonl'), threadLines());
    const expected = parsed(await succeed('decide', 'threads.jsonl', '--policy', runOf(variant)));
    const python = await runPython([join(cwd, variant, 'earshot_policy.py')], { stdin: threadLines() });
    expect(python.code, python.errors).toBe(0);
    const found = parsed(python.out);
    expect(found).toHaveLength(16 + unicodeThreads.length);
    const readsTimes = variant === 'student' || variant === 'aware';
    const fileOf = (name: string) => readFileSync(join(cwd, variant, name), 'utf8');
    expect(fileOf('README.md')).toContain(
      readsTimes ? 'only their texts, order and times' : 'only their texts and order',
    );
    for (const [index, { scores, prediction, outOfDistribution, hours, ...decision }] of expected.entries()) {
      // Of the guarantee, which two of the variants have, or else of the threads that were learnt from.
      expect(found[index].outOfDistribution.isFlagged).toBe(outOfDistribution.isFlagged);
      expect(found[index].outOfDistribution.score).toBeCloseTo(outOfDistribution.score, 6);
      expect(found[index]).toMatchObject({ ...decision, prediction: { label: prediction.label }, hours });
      expect(Object.keys(found[index])).toEqual(Object.keys(expected[index]));
      expect(found[index].scores).toHaveLength(scores.length);
      for (const [post, score] of scores.entries())
        expect(Math.abs(found[index].scores[post] - score)).toBeLessThanOrEqual(1e-5);
      for (const [label, probability] of Object.entries<number>(prediction.probabilities))
        expect(found[index].prediction.probabilities[label]).toBeCloseTo(probability, 9);
    }
  });

  it('says what `decide` says of threads that it learnt from and of those unlike them', async () => {
    const odd = Array.from({ length: 20 }, (_, index) => ({
      id: `odd-${index}`,
      posts: [{ id: 'a', text: `zebra quark vaccine ${index}` }],
    }));
    const stdin = [...synthesizeThreads(tiny.data.synthetic), ...odd]
      .map((thread) => `${JSON.stringify(thread)}\n`)
      .join('');
    writeFileSync(join(cwd, 'known.jsonl'), stdin);
    for (const more of [[], ['--include-trained']]) {
      const here = await earshot(['decide', 'known.jsonl', '--policy', variant, ...more], { cwd });
      const python = await runPython([join(cwd, variant, 'earshot_policy.py'), ...more], { stdin });
      const marks = (out: string) => parsed(out).map(({ threadId, trainedOn }) => [threadId, trainedOn]);
      expect(marks(python.out)).toEqual(marks(here.out));
      expect(python.errors).toMatch(/was trained on 44 of the 80 threads[\s\S]*are out of distribution for/);
      expect(python.errors).toBe(
        here.errors
          .replaceAll('earshot: ', 'earshot_policy.py: ')
          .replaceAll(`: ${variant} was`, ': the policy was')
          .replaceAll(`${variant} (outOf`, 'the policy (outOf'),
      );
    }
  });

  it('asks the detector that it is given in place of its own', async () => {
    if (variant !== 'aware') return;
    const script = `
import json, sys
sys.path.insert(0, sys.argv[1])
import earshot_policy as policy
own = policy.Policy(sys.argv[1])
asked = []
def judge(texts):
    asked.append(len(texts))
    return own.judge_of_thread()([(text, None) for text in texts])
given = policy.Policy(sys.argv[1], judge=judge)
texts = ["a claim", "is it", "so", "no", "yes", "no", "fake"]
decision, expected = given.decide(texts), own.decide(texts)
print(json.dumps([decision.posts_used == expected.posts_used, decision.queries == len(asked), asked]))
`;
    const python = await runPython(['-c', script, join(cwd, variant)]);
    expect(python.code, python.errors).toBe(0);
    const [same, counted, asked] = JSON.parse(python.out);
    expect([same, counted, asked[0]]).toEqual([true, true, 2]);
  });

  it('has an ONNX file that the ONNX checker accepts', async () => {
    const script =
      'import onnx, sys; m = onnx.load(sys.argv[1]); onnx.checker.check_model(m, full_check=True); print([i.name for i in m.graph.input], [o.name for o in m.graph.output], m.opset_import[0].version)';
    const checked = await runPython(['-c', script, join(cwd, variant, 'policy.onnx')]);
    expect(checked.code, checked.errors).toBe(0);
    expect(checked.out).toBe("['state'] ['stop_probability'] 17\n");
  });

  it('is refused by name when one byte of any file but the card was changed', async () => {
    const folder = join(cwd, `changed-${variant}`);
    // The card is for people, and has no hash.
    for (const name of readdirSync(join(cwd, variant)).filter((own) => own !== 'README.md')) {
      cpSync(join(cwd, variant), folder, { recursive: true });
      const bytes = readFileSync(join(folder, name));
      bytes[bytes.length - 3] ^= 1;
      writeFileSync(join(folder, name), bytes);
      // The reader is the untouched one, because the changed file may be itself.
      const refused = await runPython([join(cwd, variant, 'earshot_policy.py'), folder]);
      expect(refused.code, name).toBe(1);
      expect(refused.errors, name).toContain(`earshot_policy.py: ${name} was changed after the export`);
      expect(refused.errors, name).not.toContain('Traceback');
    }
  });
});

it('reads and writes UTF-8 whatever the terminal speaks, and takes a byte order mark', async () => {
  const reader = join(cwd, 'posts', 'earshot_policy.py');
  const stdin = `\uFEFF${JSON.stringify({ id: 'Zürich \ud83d', posts: [{ id: '1', text: 'Café – “fake”' }] })}\n`;
  const surroundings: Record<string, string>[] = [{ PYTHONIOENCODING: 'cp1252' }, { PYTHONUTF8: '1' }];
  const [windows, utf8] = await Promise.all(surroundings.map((env) => runPython([reader], { stdin, env })));
  expect(windows.code, windows.errors).toBe(0);
  expect(windows.out).toBe(utf8.out);
  expect(JSON.parse(windows.out)).toMatchObject({ threadId: 'Zürich \ud83d', postsUsed: 1 });
});

it.each([
  ['nonsense', 'line 1 is not JSON'],
  ['{"id": "a", "posts": []}', 'line 1: posts must be a list with the claim in it; found []'],
  ['{"id": "a", "posts": [{"id": "1", "text": null}]}', 'line 1: posts.0: text must be a text; found null'],
  ['{"id": "a", "posts": [{"id": "1", "text": "x", "user": "y"}]}', 'line 1: posts.0: "user" is not known'],
  [
    '{"id": "a", "posts": [{"id": "1", "text": "x", "time": "2025-01-01T00:00:00"}]}',
    'line 1: posts.0: time names no time zone: write Z behind it for UTC, or an offset such as +02:00; found "2025-01-01T00:00:00"',
  ],
  [
    '{"id": "a", "posts": [{"id": "1", "text": "x", "time": "2023-02-29T00:00:00Z"}]}',
    'line 1: posts.0: time is on a day that its month does not have',
  ],
  [Buffer.from('{"id": "a", "posts": [{"text": "Caf\xe9"}]}', 'latin1'), 'is not UTF-8; convert it to UTF-8'],
])('says in Python what is wrong with a line: %s', async (stdin, message) => {
  const refused = await runPython([join(cwd, 'posts', 'earshot_policy.py')], { stdin });
  expect(refused.code).toBe(1);
  expect(refused.errors).toMatch(/^earshot_policy\.py: /);
  expect(refused.errors).toContain(message);
  expect(refused.errors).not.toContain('Traceback');
});

it('says in Python which folder is no bundle, and which posts are none', async () => {
  const reader = join(cwd, 'posts', 'earshot_policy.py');
  const file = await runPython([reader, join(cwd, 'posts', 'manifest.json')]);
  expect([file.code, file.errors]).toEqual([
    1,
    expect.stringMatching(
      /^earshot_policy\.py: .*manifest\.json holds no bundle \(Not a directory\): give the folder .*\n$/,
    ),
  ]);
  const script = `
import sys
sys.path.insert(0, sys.argv[1])
from earshot_policy import Policy
policy = Policy(sys.argv[1])
class Table:
    columns = ["text", "time"]
from datetime import datetime
for posts in ["a claim", [None], [{"id": "1"}], Table(), [("a", None, 1)], [{"text": "a", "time": datetime(2024, 1, 2)}], [("a", "2024-01-02T00:00:00")]]:
    try:
        policy.decide(posts)
    except ValueError as problem:
        print(problem)`;
  const { out, errors } = await runPython(['-c', script, join(cwd, 'posts')]);
  expect(out.trim().split('\n'), errors).toEqual([
    'posts must be a list, the claim first',
    'a post must be a text or have one; found None',
    'a post must be a text or have one; found None',
    'a table is no list of posts; give table["text"], or table[["text", "time"]].to_dict("records")',
    "a post must be a text or have one; found ('a', None, 1)",
    '"2024-01-02 00:00:00" is no time; write ISO 8601, such as 2014-08-09T22:33:06Z, or leave it out',
    '"2024-01-02T00:00:00" names no time zone: write Z behind it for UTC, or an offset such as +02:00',
  ]);
});

it('writes in Python no control character of an id to a terminal', async () => {
  const id = 'a\u001b[31m\u009b\u202eb\u2028';
  const stdin = `${JSON.stringify({ id, posts: [{ id, text: 'x' }] })}\n`;
  const { out, errors } = await runPython([join(cwd, 'posts', 'earshot_policy.py')], { stdin });
  expect(out.trimEnd(), errors).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028]/u);
  expect(JSON.parse(out)).toMatchObject({ threadId: id, post: id });
});

it('leaves out in Python the threads that decide leaves out', async () => {
  const all = synthesizeThreads(tiny.data.synthetic);
  const stdin = all.map((thread) => `${JSON.stringify(thread)}\n`).join('');
  writeFileSync(join(cwd, 'all.jsonl'), stdin);
  const expected = parsed(await succeed('decide', 'all.jsonl', '--policy', runOf('posts')));
  const reader = join(cwd, 'posts', 'earshot_policy.py');
  const python = await runPython([reader], { stdin });
  expect(parsed(python.out).map(({ threadId }) => threadId)).toEqual(expected.map(({ threadId }) => threadId));
  expect(python.errors).toContain(
    `was trained on ${all.length - expected.length} of the ${all.length} threads; they are left out`,
  );
  const kept = await runPython([reader, '--include-trained'], { stdin });
  expect(parsed(kept.out)).toHaveLength(all.length);
});

it('says in Python what it is for and what it lacks, without its packages', async () => {
  const reader = join(cwd, 'posts', 'earshot_policy.py');
  const isolated = ['-S', '-I', reader];
  const help = await runPython([...isolated, '--help']);
  expect([help.code, help.out]).toEqual([0, expect.stringContaining('--include-trained')]);
  const without = await runPython(isolated);
  expect(without.code).toBe(1);
  expect(without.errors).toMatch(
    /^earshot_policy\.py: numpy and onnxruntime are needed .*pip install numpy onnxruntime\n$/,
  );
});

it('embeds texts in any script as Earshot does, to the last bit but for rounding', async () => {
  const dimensions = 64;
  const texts = randomTexts(3000);
  const own = createHashingEncoder({ dimensions });
  writeFileSync(join(cwd, 'texts.json'), JSON.stringify({ texts, options: own.identity }));
  const script = `
import base64, json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, earshot_policy as policy
given = json.load(open(sys.argv[2]))
characters = policy.Characters(json.load(open(sys.argv[1] + "/characters.json")))
encoder = policy.HashingEncoder(given["options"], characters)
rows = np.array([encoder.encode(text) for text in given["texts"]], "<f4")
print(base64.b64encode(rows.tobytes()).decode())
`;
  const python = await runPython(['-c', script, join(cwd, 'posts'), join(cwd, 'texts.json')]);
  expect(python.code, python.errors).toBe(0);
  const bytes = new Uint8Array(Buffer.from(python.out, 'base64'));
  const found = new Float32Array(bytes.buffer);
  const expected = await own.encode(texts);
  expect(found).toHaveLength(expected.length);
  const wrong = texts.filter((_, text) =>
    expected
      .subarray(text * dimensions, (text + 1) * dimensions)
      .some((value, i) => Math.abs(value - found[text * dimensions + i]) > 1e-6),
  );
  expect(wrong).toEqual([]);
});

/** Characters of blocks that every Python in use knows the combining marks of, beside links, handles and oddities. */
function randomTexts(count: number): string[] {
  const random = Random.seeded({ seed: 7, purpose: 'texts' });
  const blocks = [
    [0x20, 0x7f],
    [0xa0, 0x24f],
    [0x370, 0x3ff],
    [0x400, 0x4ff],
    [0x600, 0x6ff],
    [0x900, 0x97f],
    [0xe00, 0xe7f],
    [0x2000, 0x2bff],
    [0x3000, 0x30ff],
    [0x4e00, 0x9fff],
    [0xac00, 0xd7a3],
    [0xf900, 0xfaff],
    [0xfe70, 0xffef],
    [0x10000, 0x100ff],
    [0x1d400, 0x1d7ff],
    [0x1f000, 0x1faff],
    [0x20000, 0x323af],
  ] as const;
  const oddities = [
    'http://',
    'https://t.co/',
    'www.',
    '@',
    '@user_',
    'HTTP://X',
    'Σ ',
    'İ',
    "don't",
    '\u200d',
    '\ufe0f',
    '\u0085',
    '\ufeff',
  ];
  return Array.from({ length: count }, () => {
    const home = blocks[random.integer(blocks.length)];
    return Array.from({ length: random.integer(40) }, () => {
      if (random.uniform() < 0.15) return oddities[random.integer(oddities.length)];
      const [first, last] = random.uniform() < 0.8 ? home : blocks[random.integer(blocks.length)];
      return String.fromCodePoint(first + random.integer(last - first + 1));
    }).join('');
  });
}
