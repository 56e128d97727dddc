import type { Victim } from './kill.mjs'

/**
 * Kills the victims in turn at random moments while runners work; resolves with the faults found and the number of jobs
 * that runners were given.
 */
export function killCi(
  rounds: number,
  report: (line: string) => void,
  victims: Victim[],
  writing?: { environment?: Record<string, string>; least?: number; more?: number },
): Promise<{ faults: string[]; given: number }>
