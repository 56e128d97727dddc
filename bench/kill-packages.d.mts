import type { Victim } from './kill.mjs'

/**
 * Kills the victims in turn at random moments while packages of each kind are published, images pushed, mirrors updated,
 * invitations accepted and flags changed; resolves with the faults found, and the acknowledged writes by kind.
 */
export function killPackages(
  rounds: number,
  report: (line: string) => void,
  victims?: Victim[],
  writing?: { environment?: Record<string, string>; least?: number; more?: number; minutes?: number },
): Promise<{ faults: string[]; rounds: number; acknowledged: Record<string, number> }>
