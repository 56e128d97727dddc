import { type Logger, pino } from 'pino'
import { databaseError } from './db/errors.js'

const SECRETS = ['token', 'password', 'private_token', 'access_token', 'refresh_token', 'key', 'value', 'secret', 'client_secret', 'current_password']
const HEADERS = ['private-token', 'authorization', 'cookie', 'x-gitlab-token', 'set-cookie']

/** Largest write to a pipe that is atomic when several processes write to it (PIPE_BUF). */
const ATOMIC_WRITE_BYTES = 4_096

/**
 * Creates the log of the process: one JSON object per line on standard error; fields that may hold secrets are masked
 * (SEC-167). Standard output is for the ready line. `shared`: other processes write to the same standard error.
 */
export function createLog(level: string, { shared = false } = {}): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: [...SECRETS.flatMap((name) => [name, `*.${name}`]), ...HEADERS.flatMap((name) => [`headers["${name}"]`, `req.headers["${name}"]`])],
        censor: '[masked]',
      },
      serializers: { err: (error: unknown) => pino.stdSerializers.err(databaseError(error) as Error) },
    },
    pino.destination({ dest: 2, sync: false, ...(shared && { maxWrite: ATOMIC_WRITE_BYTES }) }),
  )
}

/** Writes warnings of Node into the log; Node prints them as text, between the lines of JSON. */
export function logWarnings(log: Logger): void {
  process.removeAllListeners('warning').on('warning', (warning) => log.warn({ err: warning }, 'a warning of Node'))
}
