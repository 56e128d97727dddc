import type { HookEvent } from '../../db/schema/index.js'

/** An event as hooks receive it. */
export interface WebhookEvent {
  /** The setting of hooks that receive it. */
  listens: HookEvent
  /** The header `X-Gitlab-Event`; system hooks always get `System Hook` (HK-11). */
  event: string
  /** The project whose hooks, and those of its groups, receive it; null for events outside of projects. */
  project: number | null
  /** The group whose hooks, and those of its ancestors, receive it. */
  group?: number
  body: object
  /** The branch that moved, for the filter of hooks (HK-14). */
  branch?: string
}

/** The name of an event in lists of deliveries, such as `push_hooks` (HK-6). */
export const triggerOf = (event: HookEvent): string => (event === 'system' ? 'system_hooks' : `${event.replace(/s$/, '')}_hooks`)
