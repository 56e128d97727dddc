import type { HookEvent } from '../../db/schema/index.js'

/** An event as hooks receive it. */
export interface WebhookEvent {
  /** Hooks get it that listen to this. */
  listens: HookEvent
  /** The header `X-Gitlab-Event`; hooks of the system always get `System Hook` (HK-11). */
  event: string
  /** In whose hooks, and those of the groups above; null: nothing happened inside a project. */
  project: number | null
  /** The group whose hooks, and those of the groups above, receive it. */
  group?: number
  body: object
  /** The branch that moved, for the filter of hooks (HK-14). */
  branch?: string
}

/** Such as `push_hooks`, as deliveries are listed (HK-6). */
export const triggerOf = (event: HookEvent): string => (event === 'system' ? 'system_hooks' : `${event.replace(/s$/, '')}_hooks`)
