import { createHash } from 'node:crypto'

/** What the service does unless an administrator has switched it off, by the name of its feature (FF-52). */
export const INSTANCE_FEATURES = {
  code_highlighting: 'Colours in the code of files, blames and snippets. Off, it is plain text.',
  search_suggestions: 'Projects, issues and merge requests that are offered while somebody types into the search field.',
} as const

export type InstanceFeature = keyof typeof INSTANCE_FEATURES

export const isInstanceFeature = (name: string): name is InstanceFeature => Object.hasOwn(INSTANCE_FEATURES, name)

/** For whom or what a feature is on. */
export interface Gates {
  enabled: boolean
  percentage_of_time: number
  percentage_of_actors: number
  /** `User:5`, `Project:7`, `Group:3`. */
  actors: readonly string[]
}

const MAX_NAME = 255

export const featureNameFault = (name: string): string | null => (name.length <= MAX_NAME && /^[\w.:-]+$/.test(name) ? null : 'is invalid')

/** Whether the gates of a feature let one of these actors in; `chance` is a number from 0 to 1. */
export function isLetIn(
  name: string,
  { enabled, percentage_of_time, percentage_of_actors, actors }: Gates,
  given: string[],
  chance: number,
): boolean {
  if (enabled || given.some((actor) => actors.includes(actor)) || chance * 100 < percentage_of_time) return true
  return given.some((actor) => createHash('sha256').update(`${name}${actor}`).digest().readUInt32BE() % 100 < percentage_of_actors)
}

export function featureState({ enabled, percentage_of_time, percentage_of_actors, actors }: Gates): 'on' | 'off' | 'conditional' {
  if (enabled || percentage_of_time === 100 || percentage_of_actors === 100) return 'on'
  return percentage_of_time === 0 && percentage_of_actors === 0 && actors.length === 0 ? 'off' : 'conditional'
}
