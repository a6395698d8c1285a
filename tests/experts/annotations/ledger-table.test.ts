import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { Budget, type Reservation } from '../../../experts/llm/cost/budget.ts';
import { BudgetSpentError } from '../../../experts/llm/failures.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

const opened: AnnotationStore[] = [];
afterEach(() => {
  for (const store of opened.splice(0)) store.close();
});

function storeAt(path: string): AnnotationStore {
  const store = AnnotationStore.open(path);
  opened.push(store);
  return store;
}

const newPath = () => `${temporaryFolder()}/judged.sqlite`;

function budgetIn(store: AnnotationStore, limits: ConstructorParameters<typeof Budget>[0], name = 'judge'): Budget {
  return new Budget(limits, store.ledgers.named(name));
}

const request = (tokens: number, model = 'm') => ({ model, most: { tokens, money: tokens / 1000 } });
const took = (tokens: number) => ({ tokens, money: tokens / 1000 });

function run(path: string, sql: string): void {
  const database = new Database(path);
  database.exec(sql);
  database.close();
}

describe('a ledger in a store', () => {
  it('is one for all who share the name, now and later', async () => {
    const path = newPath();
    const [one, other] = [budgetIn(storeAt(path), { requests: 3 }), budgetIn(storeAt(path), { requests: 3 })];
    (await one.reserve(request(10))).settle(took(10));
    (await other.reserve(request(10))).settle(took(10));
    const [last, refused] = await Promise.allSettled([one.reserve(request(10)), one.reserve(request(10))]);
    expect(last.status).toBe('fulfilled');
    expect(refused).toMatchObject({ reason: expect.any(BudgetSpentError) });
    await expect(other.reserve(request(10))).rejects.toThrow(
      /budget of 3 requests is spent \(3 sent so far by judge with the store .*judged.sqlite\); run again with a larger budget/,
    );
    for (const store of opened.splice(0)) store.close();
    await expect(budgetIn(storeAt(path), { requests: 3 }).reserve(request(10))).rejects.toThrow(/3 sent so far/);
    await budgetIn(opened[0], { requests: 4 }).reserve(request(10));
    await budgetIn(opened[0], { requests: 1 }, 'another judge').reserve(request(10));
    expect(opened[0].stats().spent).toMatchObject([
      { name: 'another judge', requests: 1 },
      { name: 'judge', requests: 4 },
    ]);
  });

  it('is written without a limit, too, so that one that is set later holds', async () => {
    const path = newPath();
    const free = budgetIn(storeAt(path), {});
    for (let count = 0; count < 5; count++) (await free.reserve(request(100))).settle(took(80));
    await expect(budgetIn(opened[0], { tokens: 450 }).reserve(request(100))).rejects.toThrow(
      /budget of 450 tokens is spent: 400 used so far by judge with the store .*, and the next request may cost 100/,
    );
    await expect(budgetIn(opened[0], { money: 0.45 }).reserve(request(100))).rejects.toThrow(/budget of 0.45 of money/);
  });

  it('has others wait for what one has under way', async () => {
    const path = newPath();
    const [one, other] = [budgetIn(storeAt(path), { tokens: 100 }), budgetIn(storeAt(path), { tokens: 100 })];
    (await one.reserve(request(10))).settle(took(10));
    const held = await one.reserve(request(60));
    let isGranted = false;
    const waiting = other.reserve(request(60)).then((granted) => {
      isGranted = true;
      return granted;
    });
    const small = await other.reserve(request(30));
    small.settle(took(5));
    expect(isGranted).toBe(false);
    held.settle(took(20));
    (await waiting).settle(took(60));
    await expect(other.reserve(request(60))).rejects.toThrow(/: 95 used/);
  });

  it('lets one request of an unknown model go first, of all processes', async () => {
    const path = newPath();
    const [one, other] = [budgetIn(storeAt(path), { tokens: 1000 }), budgetIn(storeAt(path), { tokens: 1000 })];
    const first = await one.reserve(request(10));
    const abort = new AbortController();
    const waiting = [one, other].map((budget) => budget.reserve(request(10), abort.signal));
    (await other.reserve(request(10, 'another model'))).settle('nothing');
    // Ten times the estimate: each of those that wait reserves as much.
    first.settle(took(100));
    const reservations: Reservation[] = await Promise.all(waiting);
    const [{ tokens }] = opened[0].stats().spent;
    expect(tokens).toBe(300);
    for (const each of reservations) each.settle(took(10));
    // The ratio is kept for whoever comes later.
    expect(opened[0].stats().spent[0].tokens).toBe(120);
    await expect(budgetIn(storeAt(path), { tokens: 200 }).reserve(request(10))).rejects.toThrow(/may cost 100/);
  });

  it('counts as spent what a process had reserved when it was killed', async () => {
    const path = newPath();
    const one = budgetIn(storeAt(path), { tokens: 100 });
    (await one.reserve(request(10))).settle(took(10));
    await one.reserve(request(60));
    const other = storeAt(path);
    const waiting = budgetIn(other, { tokens: 100 }).reserve(request(60));
    run(path, 'UPDATE lease_owner SET pid = 4194305');
    await expect(waiting).rejects.toThrow(/: 70 used/);
    expect(other.stats().spent).toMatchObject([{ requests: 2, tokens: 70 }]);
  });

  it('is not taken for damaged where its name sounds like it', async () => {
    const budget = budgetIn(storeAt(newPath()), { requests: 0 }, 'malformed-posts');
    await expect(budget.reserve(request(10))).rejects.toThrow(/^the budget of 0 requests is spent .*malformed-posts/);
  });

  it('gives back the request that was not sent after all', async () => {
    const budget = budgetIn(storeAt(newPath()), { requests: 1 });
    (await budget.reserve(request(10))).settle('unsent');
    await budget.reserve(request(10));
    await expect(budget.reserve(request(10))).rejects.toThrow(BudgetSpentError);
  });

  it('holds what a batch may take until it is collected, once', async () => {
    const store = storeAt(newPath());
    const ledger = { name: 'judge', batch: 'folder' };
    store.ledgers.reserveBatch({ ...ledger, most: { requests: 5, tokens: 90, money: 0 } });
    await expect(budgetIn(store, { requests: 5 }).reserve(request(10))).rejects.toThrow(BudgetSpentError);
    for (let time = 0; time < 2; time++)
      store.ledgers.settleBatch({ ...ledger, took: { requests: 5, tokens: 40, money: 0 } });
    expect(store.stats().spent).toMatchObject([{ requests: 5, tokens: 40 }]);
  });
});
