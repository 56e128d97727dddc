import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import type { Access } from '../access/access.js'
import type { Caller, SignedIn } from '../access/actor.js'
import type { Session } from '../access/sessions.js'
import type { Context } from '../context.js'
import type { Content } from '../http/content.js'
import { NO_INPUT } from '../http/endpoint.js'
import type { ParameterBag } from '../http/form.js'
import type { WholeAddress } from '../http/redirect.js'
import type { View } from '../http/view.js'
import type { BroadcastMessage } from '../services/core/broadcast-messages.js'
import type { Settings } from '../services/core/settings.js'
import type { Profile } from '../services/identity/sign-in/sign-on.js'
import type { Language } from './language/language.js'
import type { Theme } from './themes.js'

/** A sentence shown once, at the top of the next page. */
export interface Flash {
  kind: 'notice' | 'alert'
  text: string
}

/** A refused form, which is shown again with what was typed (WB-6). */
export interface Refusal {
  values: ParameterBag
  /** Field → messages, with the names of the API. */
  faults: Record<string, string[]>
  /** What is wrong with no single field. */
  message: string | null
  /** A text that was to be seen before it is saved, as it will look (WB-121). */
  preview?: { field: string; html: string } | undefined
}

export interface Submitted extends Refusal {
  /** The fields whose faults the page has shown so far, beside them. */
  shown: Set<string>
}

/** What a page shows of its project or group in the band at the top: the way to it, its pages, and what can be made there. */
export interface Band {
  path: ComponentChildren
  tabs: ComponentChildren
  make: (readonly [label: string, to: string])[]
}

/** What components need beside records. */
export interface PageView extends View {
  session: Session | null
  settings: Settings
  now: Date
  /** The path and query of the page, without the prefix of the service. */
  address: string
  flash: Flash | null
  /** Messages of the administrators that the browser has not dismissed (WB-182). */
  broadcasts: BroadcastMessage[]
  /** The ids of those that it has. */
  dismissed: number[]
  /** The value of the cookie that the forms of the browser are tied to; undefined before it has one. */
  browser: string | undefined
  /** The person whom a trusted proxy names; null without one. */
  proxied: Profile | null
  submitted: Submitted | null
  /** The browser comes from a page of this service, perhaps by redirects from a form. */
  fromHere: boolean
  /** Where the search field at the top leads, without the prefix: for a page of a project, to the search of the project. */
  searchAt: string
  /** Set by the layout of a project or group, and by the call that has found the project; the band is rendered last (WB-520). */
  frame: { band: Band | null; project: number | null; openRequests: number }
  /** The colours that the viewer has chosen; null: those of their system (WB-522). */
  theme: Theme | null
  /** The language of its texts (WB-800). */
  language: Language
  /** The hidden value that proves that a form comes from our page (WB-5). */
  formToken(): string
  /** A new key of a form that does its work once (WB-90). */
  formKey(): string
}

interface Cookie {
  name: string
  /** Null removes it. */
  value: string | null
  /** Seconds; without it the cookie ends with the browser. */
  maxAge?: number | undefined
}

/** A page to send. */
export interface Html {
  title: string
  body: ComponentChildren
  /** 200 by default. */
  status?: number
  headers?: Record<string, string>
  /** The scheme of where its forms lead beside this service, such as `https:` (WB-30). */
  formsLeadTo?: string | undefined
  cookies?: Cookie[]
  /** A form alone in the middle, without the navigation. */
  narrow?: boolean
  /** Loads the script; by default what is not narrow does. */
  scripted?: boolean
  /** A script that it loads beside that of all pages. */
  module?: 'editor' | 'board'
  /** What services that show a link of it say about it (Open Graph); only signed-out readers are sent that (WB-232). */
  card?: { text: string | null | undefined; image?: string | null }
  /** Its feed: what it has, and the address without the prefix (WB-230). */
  feed?: { title: string; at: string }
  /** Other origins that its scripts, frames and styles come from (WB-29). */
  sources?: readonly string[]
}

/** Leads to another page. */
export class Redirect {
  readonly cookies: Cookie[]
  readonly flash: Flash | null

  /** `to`: a path of this service without its prefix, unless it is of a kind of its own (SEC-335). */
  constructor(
    readonly to: string | WholeAddress,
    { notice, alert, cookies = [] }: { notice?: string; alert?: string; cookies?: Cookie[] } = {},
  ) {
    this.cookies = cookies
    this.flash = notice !== undefined ? { kind: 'notice', text: notice } : alert !== undefined ? { kind: 'alert', text: alert } : null
  }
}

/** A text for scripts and programs, in place of a page. */
export class Plain {
  constructor(
    readonly type: string,
    readonly text: string | Buffer,
  ) {}
}

/** A file that is made while it is sent. */
export class Download {
  constructor(
    readonly type: string,
    readonly filename: string,
    readonly pieces: AsyncIterable<string | Buffer>,
  ) {}
}

export type Answer = Html | Redirect | Plain | Download | Content

export interface PageCall<Subject, Signed extends boolean, Input> {
  ctx: Context
  caller: Signed extends true ? SignedIn : Caller
  /** As loaded by the access rule. */
  subject: Subject
  input: Input
  view: PageView
}

/** What keeps a caller out of all pages and forms but those that say that they are open then (WB-13, WB-24). */
export type CallerState = 'password_expired' | 'second_factor_missing'

/** When a form says that it is open: in a state of the caller, or while the service is read-only (WB-180). */
type FormState = CallerState | 'read_only'

/** What a page and a form say about themselves beside what they do; `test/policies.txt` has it all. */
interface Declared {
  /** The address: `/users/sign_in`, or below a project `P`, a group `G` or a user `U`, as `P/-/tree/*`. */
  at: string
  access: Access
  input: z.ZodObject
  /**
   * It is about the account, with its keys, tokens and passwords: closed to an administrator who acts as the user
   * (WB-203). What has no subject but the signed-in user says yes or no.
   */
  ownerOnly?: boolean | undefined
}

/** A page as data, like an endpoint of the API. Read by `site.ts`, `call.ts`, `paths.ts` and tests. */
export interface Page extends Declared {
  /** In which states of the caller it is open; by default in none. */
  openWhen?: readonly CallerState[] | undefined
  /** Older and later addresses of a page at a fixed address, which lead to it (SEC-336). */
  formerly?: readonly string[] | undefined
  /** Crawlers are asked to leave it alone, with all whose address begins as it does, up to its first parameter. */
  robots?: 'disallow' | undefined
  show(call: PageCall<unknown, boolean, unknown>): Promise<Answer>
}

export type FormMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A form as data. */
export interface Form extends Declared {
  /** In which states it is open; by default in none. Forms at one address agree about `read_only`. */
  openWhen?: readonly FormState[] | undefined
  method: FormMethod
  /** Takes files, and so bodies of the configured maximum size. */
  files?: boolean | undefined
  /** It carries a secret of its own, or does nothing that another site could want: it needs no form token (WB-5). */
  ownProof?: boolean | undefined
  /** The page that has the form, which is shown again if the form is refused; without it an error page is shown. */
  on?: Page | undefined
  submit(call: PageCall<unknown, boolean, unknown>): Promise<Answer>
}

/** Declares a page; without `input` it reads no parameters. */
export const page = <Subject, Signed extends boolean, Input extends z.ZodObject = typeof NO_INPUT>(declaration: {
  at: string
  access: Access<Subject, Signed>
  ownerOnly?: boolean
  openWhen?: Page['openWhen']
  formerly?: Page['formerly']
  robots?: Page['robots']
  input?: Input
  show(call: PageCall<Subject, Signed, z.infer<Input>>): Promise<Answer>
}) => ({ input: NO_INPUT, ...declaration }) as Page

/** Declares a form, by default of method POST and without fields. */
export const form = <Subject, Signed extends boolean, Input extends z.ZodObject = typeof NO_INPUT>(declaration: {
  at: string
  method?: FormMethod
  access: Access<Subject, Signed>
  ownerOnly?: boolean
  openWhen?: Form['openWhen']
  input?: Input
  files?: boolean
  ownProof?: boolean
  on?: Page
  submit(call: PageCall<Subject, Signed, z.infer<Input>>): Promise<Answer>
}) => ({ method: 'POST', input: NO_INPUT, ...declaration }) as Form

/** Sends what a page or form has made. */
export interface Sender {
  ctx: Context
  send(view: PageView, result: Answer, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}
