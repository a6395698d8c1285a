/*
 * A test of "at most this share of items loses" that may be looked at after every item, by betting (Waudby-Smith & Ramdas 2024,
 * https://arxiv.org/abs/2010.09686; Podkopaev & Ramdas 2022, https://arxiv.org/abs/2110.06177). Losses are 0 or 1.
 *
 * A bettor who stakes at odds r > 1 multiplies what is owned by r / (1 − m + m·r) at a loss, and by 1 / (1 − m + m·r) otherwise. While
 * losses come with probability m at most, that is a supermartingale, so it ever exceeds 1/level with probability `level` at most
 * (Ville's inequality). So is any mixture of bettors, and of times at which they begin: those that begin later own nothing of a long
 * quiet past, and see a change within few items.
 */

/** Odds of a loss that is likelier than allowed: 1.5 to 9 times. */
const stakes = [1.5, 2, 3, 5, 9];
/** The share of the money staked from the first item on; the j-th later team has 1 / (j (j + 1)) of the rest. */
const firstShare = 0.8;
/** Items between two teams. */
const pause = 50;
/** Beyond this number of teams, the poorest stops and gives up its wealth. */
const mostTeams = 20;

/** @param share in (0, 1) */
export function eProcess(share: number) {
  const held = stakes.map((odds) => 1 / (1 - share + share * odds));
  const lost = stakes.map((odds, bettor) => odds * held[bettor]);
  const teamOf = (money: number) => stakes.map(() => money / stakes.length);
  const teams = [teamOf(firstShare)];
  let items = 0;
  let begun = 0;
  let waiting = 1 - firstShare;
  let value = 1;

  return {
    /** The evidence against the share. */
    value: () => value,
    /** Adds an item and returns the evidence. */
    add(isLoss: boolean): number {
      if (items > 0 && items % pause === 0) begin();
      items++;
      const factors = isLoss ? lost : held;
      value = waiting;
      for (const team of teams)
        for (let bettor = 0; bettor < factors.length; bettor++) {
          team[bettor] *= factors[bettor];
          value += team[bettor];
        }
      return value;
    },
  };

  function begin(): void {
    begun++;
    const money = (1 - firstShare) / (begun * (begun + 1));
    waiting -= money;
    teams.push(teamOf(money));
    if (teams.length <= mostTeams) return;
    const poorest = teams.reduce((least, team, index) => (sum(team) < sum(teams[least]) ? index : least), 0);
    teams.splice(poorest, 1);
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/*
 * A confidence sequence of a share of losses, by betting (Waudby-Smith & Ramdas 2024, https://arxiv.org/abs/2010.09686). Losses are 0 or 1.
 *
 * A bettor who starts with 1 and stakes at odds r on a loss owns r^losses / (1 − m + m·r)^items. While losses come with probability m at
 * most, that is a supermartingale for r > 1, so it ever exceeds 1/level with probability `level` at most (Ville's inequality). For r < 1
 * the same holds of m at least. Probabilities may drift: log(1 − m + m·r) is concave in m, so their mean over the items counts.
 */

/** Odds of both kinds, from 3% beside 1, for many items, up to e². */
const twoSidedStakes = [0.03, 0.06, 0.12, 0.25, 0.5, 1, 2].flatMap((log) => [Math.exp(log), Math.exp(-log)]);

export interface Losses {
  readonly losses: number;
  readonly items: number;
}

/**
 * A confidence sequence: with probability `confidence`, the mean probability of a loss lies inside at every time,
 * however often it is checked.
 */
export function confidenceSequence(sample: Losses, confidence: number): { low: number; high: number } {
  const { losses, items } = sample;
  if (items === 0) return { low: 0, high: 1 };
  const isIn = (share: number) => wealth(sample, share) < 1 / (1 - confidence);
  // The wealth is convex in the share and at most 1 at the observed one, so this is an interval around that.
  const rate = losses / items;
  return { low: rate === 0 ? 0 : border(isIn, rate, 0), high: rate === 1 ? 1 : border(isIn, rate, 1) };
}

/** Mean wealth of the bettors. */
function wealth({ losses, items }: Losses, share: number): number {
  const logs = twoSidedStakes.map((stake) => losses * Math.log(stake) - items * Math.log1p(share * (stake - 1)));
  return logs.reduce((sum, log) => sum + Math.exp(log), 0) / twoSidedStakes.length;
}

/** The last share inside, on the way from `inside` to `end`. */
function border(isIn: (share: number) => boolean, inside: number, end: number): number {
  if (isIn(end)) return end;
  let [near, far] = [inside, end];
  while (Math.abs(far - near) > 1e-9) {
    const middle = (near + far) / 2;
    if (isIn(middle)) near = middle;
    else far = middle;
  }
  return far;
}
