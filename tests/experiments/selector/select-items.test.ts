import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { selectorClaims } from '../../../experiments/selector/data.ts';
import type { ClaimLine, PostLine, SelectedItem } from '../../../experiments/selector/select-items.ts';
import { selectItems } from '../../../experiments/selector/select-items.ts';
import { stanceClasses, veracityClasses } from '../../../experts/task-models/task-model.ts';
import { workContext } from '../../../src/work-context.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';
import { lines, outcomeOf, tinyFolder, tinySelector, tinyThreads, trainHere, withoutReplies } from './tiny-selector.ts';

const run = 'runs/tiny/agent/seed-1';
const select = ['select', run, '--out'];
const itemsOf = (text: string): SelectedItem[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const isClaim = (item: SelectedItem): item is ClaimLine => item.kind === 'claim';
const isPost = (item: SelectedItem): item is PostLine => item.kind === 'post';

/** The threads as runs have them, whatever their order in a file. */
function threadsById(): ReturnType<typeof tinyThreads> {
  const { train, ...rest } = tinyThreads();
  return { train: train.toSorted((left, right) => (left.id < right.id ? -1 : 1)), ...rest };
}

/** What the command does, without a process of its own. */
function selecting(
  cwd: string,
  options: {
    out: string;
    kind?: 'posts' | 'claims' | 'both';
    all?: boolean;
    data?: string;
    run?: string;
    onNote?: (line: string) => void;
  },
) {
  const { out, kind = 'both', all = false, data, onNote } = options;
  return selectItems({
    run: join(cwd, options.run ?? run),
    data: data === undefined ? null : join(cwd, data),
    out: join(cwd, out),
    kind,
    all,
    runs: join(cwd, 'runs'),
    budget: {},
    context: workContext(onNote && { onNote }),
  });
}

/** Policies that learn fast enough to discard something. */
async function trained(files: Record<string, unknown> = {}): Promise<string> {
  const selector = {
    ...tinySelector.selector,
    learningRate: 0.3,
    entropy: 0.3,
    claimGradient: 'sampled',
  };
  const cwd = tinyFolder({ selector, evaluation: { beside: [] } }, files);
  await trainHere(cwd);
  return cwd;
}

describe('the order of threads in a file', () => {
  const { train } = threadsById();
  const files = { 'train.jsonl': lines(train), 'reversed.jsonl': lines(train.toReversed()) };

  it('changes nothing that is decided', async () => {
    const cwd = await trained(files);
    await selecting(cwd, { out: 'given.jsonl', data: 'train.jsonl', all: true });
    await selecting(cwd, { out: 'reversed.jsonl', data: 'reversed.jsonl', all: true });
    const sorted = (name: string) => readFileSync(join(cwd, name), 'utf8').split('\n').sort();
    expect(sorted('reversed.jsonl')).toEqual(sorted('given.jsonl'));
  });

  it('changes nothing that is learnt', async () => {
    const outcomes = await Promise.all(
      (['train.jsonl', 'reversed.jsonl'] as const).map(async (name) => {
        const cwd = tinyFolder({ evaluation: { beside: [] } }, { 'data.jsonl': files[name] });
        await trainHere(cwd, { data: { train: join(cwd, 'data.jsonl'), tests: {} } });
        const { 'config.json': _, ...outcome } = outcomeOf(join(cwd, run));
        return outcome;
      }),
    );
    expect(Object.keys(outcomes[0])).toContain('metrics.jsonl');
    expect(outcomes[1]).toEqual(outcomes[0]);
  });
});

describe('select', () => {
  it('writes every claim and post of the training data, labelled, and what is retained of them', async () => {
    const cwd = await trained();
    const { train } = threadsById();
    const all = await earshot([...select, 'all.jsonl', '--all', '--json'], { cwd });
    expect(all.code, all.errors).toBe(0);
    const items = itemsOf(readFileSync(join(cwd, 'all.jsonl'), 'utf8'));
    expect(items.map(({ kind, threadId }) => [kind, threadId])).toEqual(
      train.flatMap(({ id, posts }) => [['claim', id], ...posts.slice(1).map(() => ['post', id])]),
    );

    const claims = items.filter(isClaim);
    const human = new Map(
      selectorClaims(train, { seedShare: 0.5, seed: 1 }).map((claim) => [claim.threadId, claim.label]),
    );
    for (const [index, claim] of claims.entries()) {
      const known = human.get(claim.threadId) ?? null;
      const { label, labelledBy, confidence, distribution, explanation } = claim;
      const [likeliest] = Object.entries(distribution).toSorted((one, other) => other[1] - one[1])[0];
      expect(Object.keys(distribution)).toEqual([...veracityClasses]);
      expect(Object.values(distribution).reduce((sum, share) => sum + share)).toBeCloseTo(1, 9);
      expect({ label, labelledBy, confidence }).toEqual(
        known === null
          ? { label: likeliest, labelledBy: 'machine', confidence: distribution[likeliest] }
          : { label: veracityClasses[known], labelledBy: 'human', confidence: 1 },
      );
      expect(explanation === '').toBe(label !== likeliest);
      expect(claim.claim).toBe(train[index].posts[0].text);
      expect(claim.posts).toEqual(
        items
          .filter((item) => isPost(item) && item.threadId === claim.threadId && item.retained)
          .map((item) => isPost(item) && item.postId),
      );
    }
    expect(claims.filter(({ labelledBy }) => labelledBy === 'human')).toHaveLength(12);

    const posts = items.filter(isPost);
    const replies = train.flatMap((thread) =>
      thread.posts.slice(1).map((post) => ({ ...post, claim: thread.posts[0].text })),
    );
    expect(posts.map(({ postId, claim, text }) => ({ postId, claim, text }))).toEqual(
      replies.map(({ id, claim, text }) => ({ postId: id, claim, text })),
    );
    for (const { label, confidence, distribution } of posts) {
      expect(Object.keys(distribution)).toEqual([...stanceClasses]);
      expect(distribution[label]).toBe(Math.max(...Object.values(distribution)));
      expect(confidence).toBe(distribution[label]);
    }
    for (const { retained, retainProbability } of items) expect(retained).toBe(retainProbability >= 0.5);
    // Or the test says nothing of either.
    for (const of of [claims, posts])
      expect(new Set(of.map(({ retained }) => retained))).toEqual(new Set([true, false]));

    const counted = (own: readonly SelectedItem[]) => ({
      shown: own.length,
      retained: own.filter(({ retained }) => retained).length,
    });
    const byLabel = (own: readonly SelectedItem[], labels: readonly string[]) =>
      Object.fromEntries(labels.map((label) => [label, counted(own.filter((item) => item.label === label))]));
    expect(JSON.parse(all.out)).toEqual({
      run,
      data: null,
      epochs: 3,
      threads: 24,
      out: 'all.jsonl',
      lines: 120,
      posts: { ...counted(posts), byStance: byLabel(posts, stanceClasses) },
      claims: {
        ...counted(claims),
        labelledByHuman: counted(claims.filter(({ labelledBy }) => labelledBy === 'human')),
        byVeracity: byLabel(claims, veracityClasses),
      },
    });

    const retained = await earshot([...select, 'retained.jsonl.gz'], { cwd });
    const kept = items.filter((item) => item.retained);
    expect(itemsOf(gunzipSync(readFileSync(join(cwd, 'retained.jsonl.gz'))).toString())).toEqual(kept);
    expect(retained.errors).toContain(`\n${kept.length} items: retained.jsonl.gz\n`);
    expect(retained.out).toMatch(new RegExp(`\nposts +all +96 +${counted(posts).retained} `));
    expect(retained.out).toMatch(/\nclaims +labelled by people +12 /);

    await selecting(cwd, { out: 'twin.jsonl.gz' });
    expect(readFileSync(join(cwd, 'twin.jsonl.gz'))).toEqual(readFileSync(join(cwd, 'retained.jsonl.gz')));
    for (const [kind, own] of [
      ['posts', posts],
      ['claims', claims],
    ] as const) {
      await selecting(cwd, { out: `new/${kind}.jsonl`, kind, all: true });
      expect(itemsOf(readFileSync(join(cwd, `new/${kind}.jsonl`), 'utf8'))).toEqual(own);
    }
    expect(readdirSync(cwd).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('labels other threads by machine, but for those that the selector was given the label of', async () => {
    const { train, test } = threadsById();
    const known = selectorClaims(train, { seedShare: 0.5, seed: 1 }).find(({ label }) => label !== null)?.threadId;
    const others = [...test, ...train.filter(({ id }) => id === known)];
    const cwd = await trained({ 'others.jsonl': lines(others), 'alone.jsonl': lines(test.map(withoutReplies)) });
    rmSync(join(cwd, run, 'result.json'));
    const notes: string[] = [];
    await selecting(cwd, { out: 'out.jsonl', data: 'others.jsonl', all: true, onNote: (note) => notes.push(note) });
    expect(notes).toEqual([expect.stringMatching(/seed-1 is not finished; its selector after 3 epochs is used$/)]);
    const claims = itemsOf(readFileSync(join(cwd, 'out.jsonl'), 'utf8')).filter(isClaim);
    expect(claims.map(({ threadId }) => threadId)).toEqual(others.map(({ id }) => id));
    expect(claims.filter(({ labelledBy }) => labelledBy === 'human').map(({ threadId }) => threadId)).toEqual([known]);
    await expect(selecting(cwd, { out: 'out.jsonl', data: 'alone.jsonl' })).rejects.toThrow(
      'alone.jsonl has a reply (of those that data.maxPosts lets in), and the selector reads what replies say of a claim',
    );
  });

  it('needs nothing of the data that the run was trained on to read other threads', async () => {
    const { train, test } = threadsById();
    const cwd = temporaryFolder({
      'train.jsonl': lines(train),
      'test.jsonl': lines(test),
      'other.jsonl': lines(test.map((thread) => ({ ...thread, id: `other-${thread.id}` }))),
    });
    const data = { protocol: 'ids', train: join(cwd, 'train.jsonl'), tests: { own: join(cwd, 'test.jsonl') } };
    const evaluation = { beside: [] };
    writeFileSync(join(cwd, 'tiny.yaml'), JSON.stringify({ ...tinySelector, data, evaluation }));
    await trainHere(cwd);
    const before = await selecting(cwd, { out: 'before.jsonl', data: 'other.jsonl' });
    const scored = ['evaluate', run, '--data', 'other.jsonl', '--json'];
    const scores = await earshot(scored, { cwd });
    expect(scores.code, scores.errors).toBe(0);
    rmSync(join(cwd, 'test.jsonl'));
    expect((await selecting(cwd, { out: 'own.jsonl' })).threads).toBe(train.length);
    rmSync(join(cwd, 'train.jsonl'));
    const after = await selecting(cwd, { out: 'after.jsonl', data: 'other.jsonl' });
    expect({ ...after, out: '' }).toEqual({ ...before, out: '' });
    expect(readFileSync(join(cwd, 'after.jsonl'))).toEqual(readFileSync(join(cwd, 'before.jsonl')));
    expect((await earshot(scored, { cwd })).out).toBe(scores.out);
    await expect(selecting(cwd, { out: 'own.jsonl' })).rejects.toThrow(/there is no .*train\.jsonl/);
  });

  it('refuses labels of a model that was never trained', async () => {
    const selector = { ...tinySelector.selector, pretrain: { stance: false }, tune: { stance: false } };
    const cwd = tinyFolder({ selector, stanceModel: { ...tinySelector.stanceModel, cues: 'none' } });
    await trainHere(cwd, { evaluation: { beside: [] } });
    await expect(selecting(cwd, { out: 'x.jsonl' })).rejects.toThrow(
      '96 of 96 posts with a weak label have the same probability for every class, and would all count as "support": the model was never trained',
    );
  });

  it('refuses labels of one class', async () => {
    const cwd = await trained();
    const { train } = threadsById();
    const same = train.map((thread) => ({
      ...thread,
      id: `same-${thread.id}`,
      posts: thread.posts.map((post, place) => (place === 0 ? post : { ...post, text: 'Any source? Is this true??' })),
    }));
    writeFileSync(join(cwd, 'same.jsonl'), lines(same));
    await expect(selecting(cwd, { out: 'x.jsonl', data: 'same.jsonl' })).rejects.toThrow(
      /^all 96 posts with a weak label are "\w+": nothing can be learnt from them/,
    );
  });

  it('says what is wrong with a run, its data or the file to write', async () => {
    const cwd = await trained({ 'stop/config.json': { name: 'quickstart' }, taken: 'a file' });
    const words = await Promise.all(
      [[], ['--out', 'x.jsonl', '--knid', 'posts'], ['--out', 'x.jsonl', '--kind', 'replies']].map((more) =>
        earshot(['select', run, ...more], { cwd }),
      ),
    );
    expect(words.map(({ code, out }) => [code, out])).toEqual(words.map(() => [1, '']));
    expect(words[0].errors).toContain("required option '--out <file>' not specified");
    expect(words[1].errors).toMatch(/unknown option '--knid'\n.*--kind/);
    expect(words[2].errors).toContain('Allowed choices are posts, claims, both');

    const exported = await earshot(['export', run, '--out', 'bundle'], { cwd });
    expect([exported.code, exported.errors]).toEqual([1, expect.stringContaining(`${run} holds no policy: `)]);

    const complaint = (options: Partial<Parameters<typeof selecting>[1]>) =>
      expect(selecting(cwd, { out: 'x.jsonl', ...options })).rejects;
    await complaint({ run: 'none' }).toThrow(/there is no .*none/);
    await complaint({ run: 'stop' }).toThrow('stop is a run of kind "stop-agent", and one of a selector is needed');
    await complaint({ out: 'x.csv' }).toThrow('x.csv: give a file whose name ends in .jsonl');
    await complaint({ out: 'taken/x.jsonl' }).toThrow(/cannot make the folder .*taken \(EEXIST\)/);
    await complaint({ data: 'none.jsonl' }).toThrow(/there is no .*none\.jsonl/);

    const path = join(cwd, run, 'config.json');
    const config = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...config, data: { ...config.data, planted: { threads: 28 } } }));
    await complaint({}).toThrow(
      /seed-1 is no longer what it was trained on \(planted threads\): \d+ threads are missing or changed \(/,
    );
    rmSync(join(cwd, run, 'parts.json'));
    await complaint({}).toThrow(/parts\.json .*it is missing/);
    rmSync(join(cwd, run, 'checkpoints'), { recursive: true });
    await complaint({}).toThrow(
      `${run} has no checkpoint any more (a sweep with --keep results leaves none); train it again, or give the folder of another run`,
    );
    expect(readdirSync(cwd).filter((name) => name.startsWith('x'))).toEqual([]);
  });
});
