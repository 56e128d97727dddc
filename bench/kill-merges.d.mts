/** Kills the service at random moments of merging; resolves with the faults found. */
export function killMerges(rounds: number, report: (line: string) => void): Promise<string[]>
