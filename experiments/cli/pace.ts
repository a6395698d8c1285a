/** Measures the pace of a piece of work. */
export interface Pace {
  /**
   * @param done finished items and parts of items
   * @returns items per second; null for the first measurement and while the work stands still
   */
  see(done: number): number | null;
}

/** A rate of less time, or of a smaller part of an item, says nothing: the first part waits for what all need. */
const [soonestMs, leastDone] = [200, 0.02];
/** Sights are kept this far apart, as a share of all the time, so that long work does not keep thousands. */
const finest = 1 / 200;
/** Work that has stood still for so long, and for so many times an item's usual time, has no rate. */
const standstillMs = 5000;
const standstillItems = 3;

/**
 * The pace over the later half of the elapsed time. The pace at the start is forgotten (stored answers, longer
 * iterations), and one slow item does not make the rate jump.
 */
export function paceMeter(): Pace {
  let sights: { readonly ms: number; readonly done: number }[] = [];
  let startedMs = 0;
  return {
    see(done) {
      const ms = performance.now();
      const last = sights.at(-1);
      // Less than before is other work: trials that begin anew.
      if (last === undefined || done < last.done) {
        sights = [{ ms, done }];
        startedMs = ms;
        return null;
      }
      if (done > last.done) {
        if (sights.length > 1 && ms - sights[sights.length - 2].ms < (ms - startedMs) * finest) sights.pop();
        sights.push({ ms, done });
      }
      const newest = sights[sights.length - 1];
      const latestStart = Math.min((startedMs + newest.ms) / 2, newest.ms - soonestMs);
      while (sights.length > 2 && sights[1].ms <= latestStart) sights.shift();
      const [oldest] = sights;
      const seenMs = newest.ms - oldest.ms;
      const usualMs = seenMs / (newest.done - oldest.done);
      const isStanding = ms - newest.ms > Math.max(standstillMs, standstillItems * usualMs);
      const isEarly = seenMs < soonestMs || newest.done - oldest.done < leastDone;
      return isEarly || isStanding ? null : 1000 / usualMs;
    },
  };
}

/** `5.9/s`, `2.1/min`, and of what takes longer than a minute `28 min each`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${perSecond.toFixed(perSecond < 100 ? 1 : 0)}/s`;
  return perSecond * 60 >= 1 ? `${(60 * perSecond).toFixed(1)}/min` : `${duration(1 / perSecond)} each`;
}

/** `45 s`, `12 min`, `2 h 20 min`, `3 d 4 h`. */
export function duration(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48
    ? inTwo({ many: Math.floor(minutes / 60), unit: 'h', few: minutes % 60, part: 'min' })
    : inTwo({ many: Math.floor(hours / 24), unit: 'd', few: hours % 24, part: 'h' });
}

function inTwo({ many, unit, few, part }: { many: number; unit: string; few: number; part: string }): string {
  return few === 0 ? `${many} ${unit}` : `${many} ${unit} ${few} ${part}`;
}
