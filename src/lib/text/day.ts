/** The day of a timestamp in UTC, as `YYYY-MM-DD`. */
export const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)
