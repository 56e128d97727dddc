import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../access/actor.js'
import { seesPerformanceBar } from '../access/performance-bar.js'
import { findFormerProjectFor, fullPathOf } from '../access/rules.js'
import type { Context } from '../context.js'
import { Failure, noSuchRoute, unauthenticated } from '../failures.js'
import { callerOfSession, sessionOf } from '../http/caller.js'
import { Content, sendContent } from '../http/content.js'
import { NO_INPUT } from '../http/endpoint.js'
import { asFailure } from '../http/failure-handler.js'
import { emptyParameterBag, type ParameterBag } from '../http/form.js'
import { redirect, WholeAddress } from '../http/redirect.js'
import { FairQueue } from '../lib/async/fair-queue.js'
import { holderOfCall } from '../lib/async/holder.js'
import { urlOfRouter } from '../lib/text/byte-path.js'
import { directHosts } from '../services/core/external-pictures.js'
import { loadWaiting } from '../services/issuables/waiting.js'
import { diagramServers } from '../services/markdown/relative.js'
import { namesHtml, wantsPage } from './accept.js'
import { Assets } from './assets.js'
import { answerPage, keepDetails } from './call.js'
import { inLanguage } from './language/language.js'
import { documentOf } from './layout/document.js'
import { errorPage } from './layout/error.js'
import { inUrl } from './links.js'
import type { Answer, Form, Html, Page, PageView, Sender } from './page.js'
import { Download, Plain, Redirect } from './page.js'
import { areOpenWhenReadOnly, Paths } from './paths.js'
import { flashCookie, flashText, setCookie } from './session/cookies.js'
import { viewOf, viewWith } from './view.js'

/** Bytes from which a page is compressed. */
const COMPRESSED_FROM = 1_024
/** Bytes from which pages are compressed one at a time, with a rest after each for other calls (WB-374). */
const LARGE_FROM = 128 * 1024
/** How much longer than the compression the rest is. */
const REST = 2
const LARGE_PAGES = {
  running: 1,
  waiting: 256,
  wait: 30_000,
  refusals: { timeout: 'too many large pages came before', full: 'too many large pages are waiting' },
}
const [zip, brotli] = [promisify(gzip), promisify(brotliCompress)]
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** The address of a page up to its first parameter; the path that it is below may be any. */
const beginningOf = (at: string) =>
  at
    .split(/[:*]/, 1)
    .join('')
    .replace(/^[PGU]/, '/*')

/** What crawlers leave alone: what needs a session, and pages without an end. */
function robotsText(beginnings: readonly string[]): string {
  const needed = [...new Set(beginnings)].filter((path) => !beginnings.some((other) => other !== path && path.startsWith(other)))
  return `User-agent: *\n${needed.map((path) => `Disallow: ${path}\n`).join('')}`
}

/** All pages and forms of the service (WB-1). */
export class Site implements Sender {
  readonly assets: Assets
  readonly #robots: readonly string[]
  readonly #paths: Paths
  readonly #large = new FairQueue(LARGE_PAGES)
  /** Requests for pages. */
  readonly #asked = new WeakSet<FastifyRequest>()

  constructor(
    readonly ctx: Context,
    pages: readonly Page[],
    forms: readonly Form[],
  ) {
    this.assets = new Assets(ctx.links.prefix)
    this.#robots = pages.flatMap(({ at, robots }) => (robots ? [beginningOf(at)] : []))
    this.#paths = new Paths(pages, forms)
  }

  /**
   * Registers the pages at fixed addresses, and the forms below projects, groups and users. `others`: what crawlers are to
   * leave alone and is no page.
   */
  register(app: FastifyInstance, others: Iterable<string> = []): void {
    this.assets.serve(app)
    const anyone = { config: { policy: 'anyone' } }
    app.get('/robots.txt', anyone, (_, reply) => reply.type('text/plain; charset=utf-8').send(robotsText([...others, ...this.#robots])))
    app.get('/favicon.ico', anyone, async (_, reply) => {
      const { icon } = await this.assets.links()
      return this.#lead(reply, icon.slice(this.ctx.links.prefix.length), 302)
    })
    for (const [url, place] of this.#paths.fixed) {
      const { page, forms } = place
      const config = { policy: [...new Set([page, ...forms.values()].flatMap((each) => (each ? [each.access.rule] : [])))].join('; ') }
      if (page)
        app.get(url, { config }, (request, reply) => {
          if (wantsPage(request)) this.#asked.add(request)
          else if (url === '/') return this.#rootOfApi(request, reply)
          return answerPage(this, page, paramsOf(request), request, reply)
        })
      if (forms.size > 0)
        app.post(
          url,
          { config: { ...config, openWhen: areOpenWhenReadOnly(url, place) ? ['read_only'] : [] }, ...this.#takingForms(forms) },
          (request, reply) => this.#submit(forms, paramsOf(request), request, reply),
        )
    }
    for (const page of this.#paths.moved)
      for (const from of page.formerly ?? [])
        app.get(from, { config: { policy: page.access.rule } }, (request, reply) => {
          const to = Object.entries(paramsOf(request)).reduce(
            (path, [name, value]) => path.replace(`:${name}`, encodeURIComponent(String(value))),
            page.at,
          )
          const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : ''
          return answerPage(this, leadingTo(page, to + query), paramsOf(request), request, reply)
        })
    app.post(
      '/*',
      { config: { policy: 'that of the form below a project, group or user' }, constraints: { form: 'yes' }, ...this.#takingForms() },
      (request, reply) => this.serveBelow(request, reply),
    )
  }

  /** Whether what is wrong with a request is shown as a page: for browsers, and those who were to get a page (WB-1). */
  isForPage(request: FastifyRequest): boolean {
    return namesHtml(request) || this.#asked.has(request)
  }

  /** The root for programs: they are led to `home_page_url`, if it is set and they have no credentials (AS-40). */
  async #rootOfApi({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { home_page_url: home } = await this.ctx.caches.settings.read()
    if (home === null || headers.authorization || headers['private-token']) throw noSuchRoute()
    return this.#lead(reply, new WholeAddress(home), 302)
  }

  /** Larger bodies are read only from callers who are signed in (SEC-71). */
  #takingForms(forms?: ReadonlyMap<string, Form>) {
    const { ctx } = this
    return {
      ...((!forms || [...forms.values()].some(({ files }) => files)) && { bodyLimit: ctx.config.limits.bodyBytes }),
      onRequest: async (request: FastifyRequest) => {
        request.admit = async () => {
          const caller = callerOfSession(await sessionOf(ctx, request))
          if (!caller.user) throw unauthenticated()
          request.caller = caller
        }
      },
    }
  }

  /** Serves a page or form below a project, a group or a user; 404 if there is none. */
  async serveBelow(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    this.#asked.add(request)
    await keepDetails(this.ctx, request)
    const caller = callerOfSession(await sessionOf(this.ctx, request))
    const found = await this.#paths.find(this.ctx, caller, request)
    if (!found) throw request.method === 'POST' && !caller.user ? unauthenticated() : noSuchRoute()
    if (request.method === 'POST') return this.#submit(found.forms, found.params, request, reply)
    if (!found.page) throw noSuchRoute()
    try {
      const page = found.to === null ? found.page : leadingTo(found.page, found.to)
      return await answerPage(this, page, found.params, request, reply)
    } catch (error) {
      const present = await this.#presentAddress(error, caller, String(found.params['id']), request)
      if (present === null) throw error
      return this.#lead(reply, present, 302)
    }
  }

  /** Where a page has moved that was not found below the former path of a project; null if it was none. */
  async #presentAddress(error: unknown, caller: Caller, fullPath: string, request: FastifyRequest): Promise<string | null> {
    if (!(error instanceof Failure) || error.kind !== 'not_found') return null
    const moved = await findFormerProjectFor(this.ctx, caller, fullPath)
    const former = `/${inUrl(fullPath)}`
    return moved && request.url.startsWith(former) ? `/${inUrl(fullPathOf(moved))}${urlOfRouter(request.url).slice(former.length)}` : null
  }

  #lead(reply: FastifyReply, to: string | WholeAddress, status: 302 | 303): FastifyReply {
    return redirect(reply, { to, before: this.ctx.links.prefix, status })
  }

  async #submit(forms: ReadonlyMap<string, Form>, params: ParameterBag, request: FastifyRequest, reply: FastifyReply) {
    const override = (request.body as ParameterBag | undefined)?.['_method']
    const form = forms.get(typeof override === 'string' && override !== '' ? override.toUpperCase() : 'POST')
    if (!form) throw noSuchRoute()
    return answerPage(this, form, params, request, reply)
  }

  /** Sends a page, or leads to another one. */
  async send(view: PageView, result: Answer, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { ctx } = this
    if (result instanceof Plain) {
      reply.headers({ 'content-type': result.type, 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' })
      return this.#sendText(typeof result.text === 'string' ? Buffer.from(result.text) : result.text, request, reply)
    }
    if (result instanceof Content) {
      reply.headers({ 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' })
      return sendContent(request, reply, result)
    }
    if (result instanceof Download) {
      reply.headers({
        'content-type': result.type,
        'content-disposition': `attachment; filename="${result.filename}"`,
        'cache-control': 'private, no-store',
        'x-content-type-options': 'nosniff',
      })
      return reply.send(Readable.from(result.pieces))
    }
    for (const cookie of result.cookies ?? []) setCookie(ctx, reply, cookie)
    if (result instanceof Redirect) {
      if (result.flash) setCookie(ctx, reply, { name: flashCookie(ctx), value: flashText(result.flash), maxAge: 60 })
      // 303: the next page is fetched by GET, whatever the form's method was
      return this.#lead(reply.header('cache-control', 'no-store'), result.to, 303)
    }
    const waiting = view.viewer && !result.narrow && (result.status ?? 200) < 500 ? await loadWaiting(ctx, view.viewer, view.frame.project) : null
    view.frame.openRequests = waiting?.requests ?? 0
    const costs = await shownCosts(ctx, view, result, request, reply)
    const bytes = await documentOf(ctx.cpu.slices, result, view, await this.assets.links(), { waiting, costs })
    if (view.flash) setCookie(ctx, reply, { name: flashCookie(ctx), value: null })
    for (const name of ['access-control-allow-origin', 'access-control-expose-headers']) reply.removeHeader(name)
    reply.code(result.status ?? 200).headers({ ...headersOf(view, result, hasDiagrams(bytes)), ...result.headers })
    return this.#sendText(bytes, request, reply)
  }

  async #sendText(bytes: Buffer, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const accepts = String(request.headers['accept-encoding'] ?? '')
    const coding = bytes.length < COMPRESSED_FROM ? undefined : /\bbr\b/.test(accepts) ? 'br' : /\bgzip\b/.test(accepts) ? 'gzip' : undefined
    if (!coding) return reply.send(bytes)
    const release = bytes.length < LARGE_FROM ? undefined : await this.#large.acquire({ holder: { key: holderOf(request), running: 1, waiting: 32 } })
    const begin = performance.now()
    try {
      return reply.header('content-encoding', coding).send(await (coding === 'br' ? brotli(bytes, BROTLI) : zip(bytes, { level: 6 })))
    } finally {
      if (release) setTimeout(release, REST * (performance.now() - begin)).unref()
    }
  }

  /**
   * Shows what went wrong as a page; a reader who is not signed in is led to sign-in and back where that may help
   * (WB-3). False if the error is none that a caller is shown.
   */
  async refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const failure = asFailure(error, request)
    if (!failure) return false
    if (failure.kind === 'unavailable') request.log.warn({ err: error }, 'a page could not be served')
    const session = await sessionOf(this.ctx, request).catch(() => null)
    if (leadsToSignIn(failure, request) && (!session || session.awaitsSecondFactor)) {
      const to = `/users/sign_in?return_to=${encodeURIComponent(urlOfRouter(request.url))}`
      this.#lead(reply.header('cache-control', 'no-store'), to, 302)
      return true
    }
    const { ctx } = this
    // what keeps the page from being served may keep the settings from being read
    const view =
      failure.kind === 'unavailable' ? viewWith(ctx.caches.settings.last(), ctx, session, request, reply) : await viewOf(ctx, session, request, reply)
    reply.headers(failure.headers)
    await inLanguage(view.language, () => this.send({ ...view, flash: null }, errorPage(failure, view), request, reply))
    return true
  }
}

/** What the performance bar shows of a call; null for those who do not see it (WB-200). */
async function shownCosts({ db }: Context, { viewer, settings }: PageView, { status = 200 }: Html, { spent }: FastifyRequest, reply: FastifyReply) {
  const { details } = spent
  if (!viewer || !details || status >= 500 || !(await seesPerformanceBar(db, viewer, settings))) return null
  return { ms: reply.elapsedTime, git_ms: spent.git, database_ms: spent.database, details }
}

const leadsToSignIn = ({ kind }: Failure, { method }: FastifyRequest) =>
  (method === 'GET' || method === 'HEAD') && (kind === 'unauthenticated' || kind === 'not_found')

/** A page as one that leads to another address, for those who may open it (SEC-336). */
const leadingTo = (page: Page, to: string): Page => ({ ...page, input: NO_INPUT, show: async () => new Redirect(to) })

const holderOf = ({ caller, ip }: FastifyRequest) => holderOfCall(caller?.user?.id, ip)

const paramsOf = ({ params }: FastifyRequest): ParameterBag => Object.assign(emptyParameterBag(), params)

/** Whether a page has diagrams that are drawn in frames, or may get them by a preview (MD-23). */
const hasDiagrams = (bytes: Buffer) => bytes.includes('<code class="language-mermaid">') || bytes.includes('<div class="editor"')

/** Only what comes from this service, pictures of an avatar service and of hosts of the settings, and what a page names (WB-4, WB-29, WB-465). */
function headersOf({ avatarService, settings, language }: PageView, { sources = [], formsLeadTo }: Html, hasFrames: boolean): Record<string, string> {
  const others = sources.map((source) => ` ${source}`).join('')
  const frames = `${hasFrames ? " 'self'" : ''}${others}`
  const diagrams = Object.values(diagramServers(settings)).filter((server) => server !== null)
  const elsewhere = [...(avatarService ? [avatarService.replace(/%\{\w+\}/g, '0')] : []), ...diagrams]
  const pictures = [...elsewhere.map((address) => new URL(address).origin), ...directHosts(settings)].map((source) => ` ${source}`).join('')
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'self'${others}; script-src 'self'${others}; img-src 'self'${pictures}; connect-src 'self'${others};${frames && ` frame-src${frames};`} form-action 'self'${formsLeadTo ? ` ${formsLeadTo}` : ''}; frame-ancestors 'none'; base-uri 'none'`,
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cache-control': 'private, no-cache',
    'content-language': language,
    vary: 'accept, accept-encoding, accept-language, cookie',
  }
}
