/** Kills the service at random moments of merging, and resolves with what is not as it should be. */
export function killMerges(rounds: number, report: (line: string) => void): Promise<string[]>
