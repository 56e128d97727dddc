/** Called with the number of finished and of all steps. */
export type OnProgress = (done: number, all: number) => void
