/** The administrator's token. */
export const TOKEN: string
export interface Service {
  url: string
  pid: number
  /** All its output. */
  log(): string
  /** Stops it and resolves with its exit code; SIGKILL kills its whole process group. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}
export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: any response of the API
  body: any
}

/** Starts the service in a folder and resolves when it is ready. */
export function startService(dataDir: string, environment?: Record<string, string>): Promise<Service>
/** Calls the API as the administrator; null if there was no complete response. */
export function call(url: string, method: string, path: string, body?: object): Promise<Answer | null>
/** The service's URL for Git, with the administrator's token. */
export function withToken(url: string): string
/** The ids of a service's worker processes. */
export function workersOf(service: Service): number[]
export type Victim = 'all' | 'service' | 'git' | 'spawner' | 'backend' | 'postmaster' | 'worker'
/**
 * Kills the victims in turn at random moments of writing, by default the whole service; resolves with the faults found.
 */
export function killRounds(
  rounds: number,
  report: (line: string) => void,
  victims?: Victim[],
  writing?: { least: number; more: number; environment?: Record<string, string> },
): Promise<string[]>
