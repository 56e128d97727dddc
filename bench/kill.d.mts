/** The administrator's token. */
export const TOKEN: string
export interface Service {
  url: string
  pid: number
  /** All it has printed. */
  log(): string
  /** Ends it and waits until it is gone; SIGKILL ends its whole group. Resolves with its exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}
export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API says
  body: any
}

/** Starts the service in a folder and resolves when it is ready. */
export function startService(dataDir: string, environment?: Record<string, string>): Promise<Service>
/** A call of the API as the administrator; null when there was no whole answer. */
export function call(url: string, method: string, path: string, body?: object): Promise<Answer | null>
/** The service's URL with the administrator's token in it, as Git takes it. */
export function withToken(url: string): string
/** The ids of a service's worker processes. */
export function workersOf(service: Service): number[]
export type Victim = 'all' | 'service' | 'git' | 'spawner' | 'backend' | 'postmaster' | 'worker'
/** Kills the victims in turn at random moments of writing, by default the whole service, and resolves with what was lost or undone. */
export function killRounds(
  rounds: number,
  report: (line: string) => void,
  victims?: Victim[],
  writing?: { least: number; more: number; environment?: Record<string, string> },
): Promise<string[]>
