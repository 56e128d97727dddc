/** The share of a limit that each of several processes gets, rounded up and at least `least`. */
export const shareOf = (limit: number, processes: number, least = 1): number =>
  processes === 1 ? limit : Math.max(least, Math.ceil(limit / processes))
