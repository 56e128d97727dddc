import type { IntegrationValue } from '../../db/schema/index.js'
import { withoutTrailing } from '../../lib/text/without-trailing.js'
import { parseUrl } from '../../lib/url.js'
import type { IntegrationEvent } from '../../rules/integrations/events.js'
import type { MailMessage } from '../core/mail.js'
import type { Payload } from './payload.js'

export type Settings = Readonly<Record<string, IntegrationValue | undefined>>

/** A property of an integration. */
export interface Property {
  /** `url`: an address that is linked; `address`: one that requests are sent to; `lines`: text of several lines. */
  kind: 'text' | 'lines' | 'url' | 'address' | 'flag' | 'number' | 'choice'
  label: string
  hint?: string
  required?: true
  /** Encrypted at rest (SV-4). */
  sealed?: true
  /** Never given back; encrypted too. */
  secret?: true
  /** It stands beside the properties in the API, not among them. */
  beside?: true
  fallback?: IntegrationValue
  choices?: readonly [string, ...string[]]
  /** What the choices are called. */
  labels?: Readonly<Record<string, string>>
}

/** A request of a sender: a POST to its address, unless `to` says otherwise. */
export interface ServiceRequest {
  body: string
  /** Method and path below the address, such as `PUT tasks/1`. */
  to?: string
}

/** How an integration sends what happens over HTTP. */
export interface Sender {
  /** The address, with user and password if it has them. */
  address(settings: Settings): string
  bearer?(settings: Settings): string | undefined
  contentType?: string
  /** Sends the headers of webhooks, which programs for builds read. */
  asWebhook?: true
  /** What is sent for an event; none if there is nothing to say. */
  requests(payload: Payload, settings: Settings): ServiceRequest[]
}

/** What a mail has beside its recipient. */
export type IntegrationMail = Pick<MailMessage, 'subject' | 'heading' | 'parts' | 'footer'> & {
  /** Two commits whose differences follow. */
  diff?: { from: string; to: string }
}

export interface Service {
  slug: string
  title: string
  description: string
  properties: Readonly<Record<string, Property>>
  /** The events that it listens to. */
  events: readonly IntegrationEvent[]
  /** Those of them that are off by default. */
  off?: readonly IntegrationEvent[]
  sender?: Sender
  /** The mail about an event; null if there is nothing to say. */
  mail?(payload: Payload, settings: Settings): IntegrationMail | null
  /** A tracker, whose issues texts link to: `long` ones have only keys such as `PROJ-12`. */
  tracker?: { keys: 'any' | 'long'; links(settings: Settings): { project_url: string; issues_url: string; new_issue_url?: string | undefined } }
  /** What is wrong with settings taken together, by property. */
  faults?(settings: Settings): Record<string, string[]>
}

/** A text of the settings; empty if it is not set. */
export const textOf = (settings: Settings, name: string): string => String(settings[name] ?? '')
export const isOn = (settings: Settings, name: string): boolean => settings[name] === true
/** An address without slashes at the end, for a path to follow. */
export const baseOf = (settings: Settings, name: string): string => withoutTrailing(textOf(settings, name), '/')

/** An address with a user and a password, if there is a user. */
export function withCredentials(address: string, user: string, password: string): string {
  const url = parseUrl(address)
  if (user === '' || !url) return address
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(password)
  return url.href
}

export const text = (label: string, more: Partial<Property> = {}): Property => ({ kind: 'text', label, ...more })
export const flag = (label: string, more: Partial<Property> = {}): Property => ({ kind: 'flag', label, ...more })
export const url = (label: string, more: Partial<Property> = {}): Property => ({ kind: 'url', label, required: true, ...more })
export const address = (label: string, more: Partial<Property> = {}): Property => ({ kind: 'address', label, required: true, ...more })
export const secret = (label: string, more: Partial<Property> = {}): Property => ({ kind: 'text', label, secret: true, ...more })

export const BRANCH_CHOICES = ['all', 'default', 'protected', 'default_and_protected'] as const
export const branches = (fallback: (typeof BRANCH_CHOICES)[number]): Property => ({
  kind: 'choice',
  label: 'Branches',
  hint: 'Messages are sent about their pushes and pipelines.',
  choices: BRANCH_CHOICES,
  fallback,
})
export const brokenOnly = flag('Only failed pipelines', { fallback: true })
