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
