import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import {
  createEventEnvelope,
  createStackParser,
  type DsnComponents,
  dsnFromString,
  type ErrorEvent,
  exceptionFromError,
  getEnvelopeEndpointWithUrlEncodedAuth,
  serializeEnvelope,
} from '@sentry/core'
import { nodeStackLineParser } from '@sentry/core/server'
import type { Context, PageError } from '../../context.js'
import { post } from '../../lib/outgoing-post.js'
import { checkTarget } from '../../lib/ssrf-guard.js'
import { readSettings, settingPurpose } from './settings.js'
import { unsealed } from './unsealed.js'

type ErrorReports = Context['monitoring']['errors']
type Tracked = Pick<Context, 'caches' | 'encryption' | 'log' | 'now'>
type Report = Pick<ErrorEvent, 'platform' | 'exception' | 'tags' | 'extra' | 'request' | 'level'>

/** Reports that wait at most, and those of a minute; further ones are dropped. */
const MAX_WAITING = 50
const MAX_PER_MINUTE = 100
const MINUTE_MS = 60_000
const TIMEOUT_MS = 5_000
/** How long nothing is sent after the tracker has asked for it, if it does not say how long. */
const PAUSE_MS = 60_000
const MAX_PAUSE_MS = 3_600_000
const MAX_MESSAGE = 1_000
const MAX_STACK = 4_000
const MAX_CAUSES = 3

const parseStack = createStackParser(nodeStackLineParser())

/**
 * Sends errors to trackers that speak Sentry's protocol (SEC-275). Nothing waits for it, and nothing fails by it.
 */
export class ErrorTracker implements ErrorReports {
  readonly #service: Reports
  readonly #pages: Reports

  constructor(tracked: Tracked) {
    this.#service = new Reports(tracked, 'errtracker')
    this.#pages = new Reports(tracked, 'clientside_errtracker')
  }

  report(error: unknown, about: Record<string, string | number>): void {
    this.#service.add(() => ({
      platform: 'node',
      level: 'error',
      exception: { values: exceptionsOf(error) },
      tags: { ...about, server_name: hostname() },
    }))
  }

  reportPage(error: PageError, userAgent: string): void {
    this.#pages.add(() => ({
      platform: 'javascript',
      level: 'error',
      exception: { values: [pageException(error)] },
      request: { url: withoutSecrets(pathOf(error.page)).slice(0, 500), headers: { 'User-Agent': userAgent.slice(0, 300) } },
      extra: { stack: withoutSecrets(error.stack.slice(0, MAX_STACK)) },
    }))
  }
}

/** The reports for one tracker. Its DSN is a setting of administrators, so it may be on the local network. */
class Reports {
  #waiting: { dsn: DsnComponents; report: Report }[] = []
  #sending = false
  #minute = { end: 0, reports: 0 }
  #pausedUntil = 0

  constructor(
    private readonly tracked: Tracked,
    private readonly which: 'errtracker' | 'clientside_errtracker',
  ) {}

  add(make: () => Report): void {
    const now = Date.now()
    if (this.#minute.end <= now) this.#minute = { end: now + MINUTE_MS, reports: 0 }
    if (this.#pausedUntil <= now && this.#minute.reports++ < MAX_PER_MINUTE) void this.#queue(make)
  }

  async #queue(make: () => Report): Promise<void> {
    const { tracked, which } = this
    try {
      const settings = await readSettings(tracked)
      const sealed = settings[`${which}_dsn`]
      if (!settings[`${which}_enabled`] || sealed === null || this.#waiting.length >= MAX_WAITING) return
      const dsn = dsnFromString(unsealed(tracked, sealed, settingPurpose(`${which}_dsn`)) ?? '')
      if (!dsn) return
      this.#waiting.push({ dsn, report: make() })
      if (!this.#sending) await this.#sendAll()
    } catch (fault) {
      tracked.log.debug({ err: fault }, 'an error could not be reported')
    }
  }

  async #sendAll(): Promise<void> {
    this.#sending = true
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await this.#send(next.dsn, next.report)
    } catch (fault) {
      this.#pause(PAUSE_MS, fault)
    } finally {
      this.#sending = false
    }
  }

  async #send(dsn: DsnComponents, report: Report): Promise<void> {
    const event = { ...report, type: undefined, event_id: randomUUID().replaceAll('-', ''), timestamp: this.tracked.now().getTime() / 1000 }
    const body = serializeEnvelope(createEventEnvelope(event, dsn))
    const target = await checkTarget(getEnvelopeEndpointWithUrlEncodedAuth(dsn), { protocols: ['http:', 'https:'], allowLocal: true })
    const { status, headers } = await post(target, {
      headers: { 'content-type': 'application/x-sentry-envelope' },
      body: typeof body === 'string' ? body : Buffer.from(body).toString('utf8'),
      verify: true,
      timeout: TIMEOUT_MS,
    })
    if (status === 429) this.#pause((Number(headers['retry-after']) || 0) * 1000 || PAUSE_MS, null)
    else if (status >= 300) this.#pause(PAUSE_MS, new Error(`the error tracker answered ${status}`))
  }

  /** Sends nothing for a while, and drops what waits. */
  #pause(milliseconds: number, fault: unknown): void {
    this.#pausedUntil = Date.now() + Math.min(MAX_PAUSE_MS, milliseconds)
    this.#waiting = []
    if (fault) this.tracked.log.warn({ err: fault }, 'errors cannot be reported to the tracker for a while')
  }
}

/** The path of an address, without its query. */
const pathOf = (address: string) => address.split(/[?#]/, 1).join('')

function exceptionsOf(error: unknown) {
  const values = []
  for (let at = error; at !== undefined && at !== null && values.length < MAX_CAUSES; at = at instanceof Error ? at.cause : undefined) {
    const known = at instanceof Error ? exceptionFromError(parseStack, at) : { type: 'Error', value: String(at) }
    values.unshift({ ...known, value: withoutSecrets(known.value ?? '').slice(0, MAX_MESSAGE) })
  }
  return values
}

function pageException({ message, source, line, column }: PageError) {
  const [, type = 'Error', value = message] = /^(?:Uncaught )?([A-Z]\w*): ([\s\S]*)$/.exec(message) ?? []
  const filename = pathOf(source).slice(0, 300)
  return { type, value: withoutSecrets(value).slice(0, MAX_MESSAGE), stacktrace: { frames: [{ filename, lineno: line, colno: column }] } }
}

/** A text without what may be a secret: what follows such a word, users of URLs, queries, and long words with digits. */
export const withoutSecrets = (text: string): string =>
  text
    .slice(0, 20_000)
    .replace(/\/\/[^/\s@]*@/g, '//[masked]@')
    .replace(/\?[^\s"'<>]*/g, '?[masked]')
    .replace(
      /\b(\w*(?:token|password|passwd|secret|authorization|cookie|key))(["']?\s*[=:]\s*["']?)(?:(?:Bearer|Basic)\s+)?[^\s"',;]+/gi,
      '$1$2[masked]',
    )
    .replace(/[\w+=-]{20,}/g, (word) => (/\d/.test(word) ? '[masked]' : word))
