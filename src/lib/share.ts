/**
 * The part of a bound that each of several processes gets, so that all together stay within it; rounded up, and at
 * least `least`.
 */
export const shareOf = (whole: number, processes: number, least = 1): number =>
  processes === 1 ? whole : Math.max(least, Math.ceil(whole / processes))
