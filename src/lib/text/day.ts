/** The day a moment falls on, in UTC. */
export const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)
