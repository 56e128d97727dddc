import type { FastifyReply, FastifyRequest } from 'fastify'
import { ANONYMOUS, type Caller } from '../access/actor.js'
import { needsSecondFactor, type Session } from '../access/sessions.js'
import { afterStorageMove } from '../access/storage-move.js'
import { unlessRemoved } from '../access/unless-removed.js'
import type { Context } from '../context.js'
import { conflict, Failure, type FailureKind, failureText, forbidden, unauthenticated } from '../failures.js'
import { callerOfSession, sessionOf } from '../http/caller.js'
import { Content } from '../http/content.js'
import { emptyParameterBag, isBag, joinBags, type ParameterBag } from '../http/form.js'
import { countRequest, forCall } from '../http/mount.js'
import { parseInput } from '../http/params.js'
import { noDetails } from '../lib/async/call-times.js'
import { holderOfCall, runAsHolder } from '../lib/async/holder.js'
import { onlyOnce } from '../services/core/sent-forms.js'
import { drafted } from './drafts.js'
import { inLanguage, t } from './language/language.js'
import { inUrl } from './links.js'
import type { Answer, CallerState, Form, Page, PageView, Refusal, Sender } from './page.js'
import { Download, Plain, Redirect } from './page.js'
import { isFormToken, isFromElsewhere } from './session/form-token.js'
import { checkProxied } from './session/proxied.js'
import { formSeedOf, seedOf, viewOf } from './view.js'

/** Kinds of failures after which a form is shown again with what was typed (WB-6). */
const SHOWN_AGAIN = new Set<FailureKind>(['invalid', 'conflict', 'unprocessable', 'too_many', 'method_not_allowed'])

/** Where a user is led for whom most pages are closed: to what opens them again (WB-13, WB-24). */
const WAYS_OUT: Record<CallerState, string> = {
  password_expired: '/-/profile/password/new',
  second_factor_missing: '/-/profile/two_factor_auth',
}

function stateOf({ user }: Caller, session: Session | null, now: Date): CallerState | null {
  if (!user || !session) return null
  if (session.passwordExpired) return 'password_expired'
  return needsSecondFactor(session, now) ? 'second_factor_missing' : null
}

/** Answers a request for a page or with a form, for a known address (WB-1). */
export async function answerPage(site: Sender, declared: Page | Form, params: ParameterBag, request: FastifyRequest, reply: FastifyReply) {
  const { ctx } = site
  checkProxied(ctx, request)
  await keepDetails(ctx, request)
  const session = await sessionOf(ctx, request)
  const caller = callerOfSession(session)
  request.caller = caller
  await countRequest(ctx, (session?.impersonator ?? caller.user)?.id ?? null, request, reply, 'web')
  const call = forCall(ctx, request, caller)
  const view = await viewOf(call, session, request, reply)
  return inLanguage(view.language, () => answerIn(site, { declared, params, session, caller, call, view }, request, reply))
}

interface Asked {
  declared: Page | Form
  params: ParameterBag
  session: Session | null
  caller: Caller
  call: Context
  view: PageView
}

async function answerIn(site: Sender, { declared, params, session, caller, call, view }: Asked, request: FastifyRequest, reply: FastifyReply) {
  if ('submit' in declared) checkOrigin(call, declared, request, session)
  if (session?.impersonator && declared.ownerOnly) throw forbidden(t('This is open only to the owner of the account. Stop acting as them first.'))
  const state = stateOf(caller, session, view.now)
  if (state && !declared.openWhen?.includes(state)) return site.send(view, new Redirect(WAYS_OUT[state]), request, reply)
  const bag = joinBags(request.query as ParameterBag, withUnixLines(request.body as ParameterBag | undefined), params)
  const run = () => ('submit' in declared ? submit(call, view, declared, bag, request) : show(call, view, declared, bag))
  const result = await runAsHolder(holderOfCall(caller.user?.id, request.ip), run)
  return site.send(view, result, request, reply)
}

/** Keeps what the call waits for, for the performance bar (WB-200). */
export async function keepDetails(ctx: Context, { spent }: FastifyRequest): Promise<void> {
  if ((await ctx.caches.settings.read()).performance_bar_enabled) spent.details ??= noDetails()
}

/** Browsers end the lines of what is typed with CR and LF. */
function withUnixLines<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/\r\n/g, '\n') as T
  if (Array.isArray(value)) return value.map(withUnixLines) as T
  if (isBag(value)) {
    const bag: ParameterBag = value
    for (const name of Object.keys(bag)) bag[name] = withUnixLines(bag[name])
  }
  return value
}

/** Loads the subject, as the access rule says. */
function finderOf(ctx: Context, { access }: Page | Form, caller: Caller, bag: ParameterBag): () => Promise<unknown> {
  if (access.signedIn && !caller.user) throw unauthenticated()
  return () => access.find(ctx, caller as never, parseInput(access.path, bag))
}

const callerIn = (ctx: Context): Caller => ctx.origin?.caller ?? ANONYMOUS

async function show(ctx: Context, view: PageView, page: Page, bag: ParameterBag): Promise<Answer> {
  const caller = callerIn(ctx)
  const subject = await finderOf(ctx, page, caller, bag)()
  if (page.at.startsWith('P')) {
    view.searchAt = `/${inUrl(String(bag['id']))}/-/search`
    view.frame.project = projectOf(subject)
  }
  return page.show({ ctx, caller, subject, input: parseInput(page.input, bag), view })
}

/** The id of the project of what a page is about. */
function projectOf(subject: unknown): number | null {
  const project = isBag(subject) ? subject['project'] : null
  return isBag(project) && typeof project['id'] === 'number' ? project['id'] : null
}

async function submit(ctx: Context, view: PageView, form: Form, bag: ParameterBag, request: FastifyRequest): Promise<Answer> {
  const caller = callerIn(ctx)
  const load = finderOf(ctx, form, caller, bag)
  const subject = await afterStorageMove(ctx, load)
  const draft = form.on && (await drafted(ctx, caller, subject, bag))
  if (form.on && draft) return showAgain(ctx, view, form.on, bag, { draft, status: 200 })
  try {
    const input = parseInput(form.input, bag)
    const work = () => form.submit({ ctx, caller, subject, input, view })
    const guarded = () => (form.method === 'DELETE' ? work() : unlessRemoved(request.log, load, work))
    return await once(ctx, caller, bag, guarded)
  } catch (error) {
    if (!form.on || !(error instanceof Failure) || !SHOWN_AGAIN.has(error.kind)) throw error
    const again = { draft: submittedOf(error, bag), status: error.kind === 'too_many' ? 429 : 422, headers: error.headers, refusal: error }
    return showAgain(ctx, view, form.on, bag, again)
  }
}

/** Does the work of a form that was made to be sent once; a second sending leads to where the first has led (WB-90). */
async function once(ctx: Context, { user }: Caller, { form_key: key }: ParameterBag, work: () => Promise<Answer>) {
  if (!user || typeof key !== 'string' || !FORM_KEY.test(key)) return work()
  const done = await onlyOnce(ctx, { user: user.id, key }, work, (result) =>
    result instanceof Redirect && typeof result.to === 'string' ? result.to : null,
  )
  if ('result' in done) return done.result
  if (done.location === null) throw conflict(t('This was sent already'))
  return new Redirect(done.location)
}

const FORM_KEY = /^[\w-]{16,64}$/

/** The page of a form with what was typed. */
async function showAgain(
  ctx: Context,
  view: PageView,
  page: Page,
  bag: ParameterBag,
  { draft, status, headers, refusal }: { draft: Refusal; status: number; headers?: Record<string, string>; refusal?: Failure },
): Promise<Answer> {
  const shown = await show(ctx, { ...view, submitted: { ...draft, shown: new Set() } }, page, pageParameters(bag, page))
  const isPage = !(shown instanceof Redirect || shown instanceof Plain || shown instanceof Download || shown instanceof Content)
  // a page that leads elsewhere has no place for what was refused
  if (!isPage && refusal) throw refusal
  return !isPage ? shown : { ...shown, status, headers: { ...shown.headers, ...headers } }
}

/** The parameters of the page of a form: those of its path and query, not what was typed. */
function pageParameters(bag: ParameterBag, { access, input }: Page): ParameterBag {
  const own = emptyParameterBag()
  for (const name of [...Object.keys(access.path.shape), ...Object.keys(input.shape)]) if (bag[name] !== undefined) own[name] = bag[name]
  return own
}

function submittedOf(failure: Failure, values: ParameterBag): Refusal {
  const { body, kind, headers } = failure
  if (failure.faults) return { values, faults: failure.faults, message: null }
  if (kind === 'too_many')
    return { values, faults: {}, message: t('Too many attempts. Try again in {seconds} seconds.', { seconds: headers['retry-after'] ?? 60 }) }
  const message = typeof body === 'object' && 'message' in body ? body.message : undefined
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return { values, faults: {}, message: sentence(failureText(body)) }
  const faults = Object.entries(message as Record<string, string | string[]>).map(([field, texts]) => [field, [texts].flat()] as const)
  return { values, faults: Object.fromEntries(faults), message: null }
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

/** Refuses a form that another site sent, or that was made for another browser (WB-5). */
function checkOrigin(ctx: Context, { ownProof }: Form, request: FastifyRequest, session: Session | null): void {
  const token = (request.body as ParameterBag | undefined)?.['authenticity_token']
  const seed = seedOf(ctx, request)
  const isOurs = seed !== undefined && isFormToken(ctx, formSeedOf(seed, session), token)
  if (isFromElsewhere(ctx, request) || (!ownProof && !isOurs))
    throw new Failure('unprocessable', {
      error: t('This form has expired, or was sent by another site. Go back, reload the page and send it again.'),
    })
}
