const MARK = /^\s*(?:\[WIP\]|WIP:|WIP )/i

/** MR-4: whether a title says that what it names is not done yet. */
export const isWorkInProgress = (title: string) => MARK.test(title)
