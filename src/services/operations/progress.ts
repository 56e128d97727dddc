/** Called with how much of some work is done. */
export type OnProgress = (done: number, all: number) => void
