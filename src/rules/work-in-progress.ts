const MARK = /^\s*(?:\[WIP\]|WIP:|WIP )/i

/** Whether a title marks work in progress (MR-4). */
export const isWorkInProgress = (title: string) => MARK.test(title)
