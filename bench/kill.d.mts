/** The administrator's token. */
export const TOKEN: string
export interface Service {
  url: string
  pid: number
  /** All its output. */
  log(): string
  hasEnded(): boolean
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
export interface KillFigures {
  rounds: number
  /** Acknowledged writes by kind. */
  acknowledged: Record<string, number>
  /** Milliseconds from each kill until HTTP, or SSH, answered again. */
  http: number[]
  ssh: number[]
  /** Starts of the service that ended. */
  endedStarts: string[]
  /** Answers with a status of 5xx other than 503. */
  unexpected: string[]
  /** What the doctor found at the end. */
  doctor: string[]
}
/**
 * Kills the victims in turn at random moments of writing, by default the whole service, beside a number of busy processes;
 * resolves with the faults found and the figures.
 */
export function killRounds(
  rounds: number,
  report: (line: string) => void,
  victims?: Victim[],
  writing?: { least: number; more: number; environment?: Record<string, string>; busy?: number; minutes?: number },
): Promise<{ faults: string[]; figures: KillFigures }>
/** Starts processes that keep cores busy until `end` is called or this process ends. */
export function busyProcesses(count: number): { end(): void }
/** Runs a statement in the Postgres of a data folder. */
export function query(dataDir: string, text: string, values?: unknown[]): Promise<Record<string, string>[]>
