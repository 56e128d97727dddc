import { lengthOf } from '../path.js'

/** For whom a flag can be on, in the words of Unleash; `gitlabUserList` is `userWithId` with the users of a list. */
export const STRATEGIES = ['default', 'gradualRolloutUserId', 'userWithId', 'gitlabUserList', 'flexibleRollout'] as const
export type Strategy = (typeof STRATEGIES)[number]

export const STICKINESS = ['default', 'userId', 'sessionId', 'random'] as const

const PARAMETERS: Record<Strategy, string[]> = {
  default: [],
  gradualRolloutUserId: ['groupId', 'percentage'],
  userWithId: ['userIds'],
  gitlabUserList: [],
  flexibleRollout: ['groupId', 'rollout', 'stickiness'],
}

const NAME = /^[a-z](?:[-_a-z0-9]*[a-z0-9])?$/
const GROUP = /^[a-z]{1,32}$/
const PERCENTAGE = /^(?:\d{1,2}|100)$/
const MAX_XID = 256

/** What is wrong with the name of a flag (FF-2). */
export function flagNameFaults(name: string): string[] {
  if (name === '') return ["can't be blank"]
  const faults: string[] = []
  if (name.length < 2) faults.push('is too short (minimum is 2 characters)')
  if (name.length > 63) faults.push('is too long (maximum is 63 characters)')
  if (!NAME.test(name))
    faults.push("can contain only lowercase letters, digits, '_' and '-'. Must start with a letter, and cannot end with '-' or '_'")
  return faults
}

/** What is wrong with names of users, which are separated by commas; null if nothing is (FF-8). */
export function xidsFault(text: unknown): string | null {
  const names = typeof text === 'string' && !/[\n\r\t]|,,/.test(text) ? (text === '' ? [] : text.replace(/,$/, '').split(',')) : null
  const fits = names?.every((name) => name !== '' && name.trim() === name && lengthOf(name) <= MAX_XID) && new Set(names).size === names.length
  return fits ? null : `must be a string of unique comma separated values each ${MAX_XID} characters or less`
}

/** What is wrong with the parameters of a strategy (FF-4). */
export function parameterFaults(name: Strategy, parameters: Record<string, unknown>): string[] {
  const names = PARAMETERS[name]
  if (Object.keys(parameters).sort().join() !== names.join()) return ['parameters are invalid']
  const faults: string[] = []
  const { groupId, percentage, rollout, stickiness, userIds } = parameters
  const isPercentage = (value: unknown) => typeof value === 'string' && PERCENTAGE.test(value)
  if (names.includes('percentage') && !isPercentage(percentage)) faults.push('percentage must be a string between 0 and 100 inclusive')
  if (names.includes('stickiness') && !(STICKINESS as readonly unknown[]).includes(stickiness))
    faults.push('stickiness parameter must be default, userId, sessionId, or random')
  if (names.includes('groupId') && !(typeof groupId === 'string' && GROUP.test(groupId))) faults.push('groupId parameter is invalid')
  if (names.includes('rollout') && !isPercentage(rollout)) faults.push('rollout must be a string between 0 and 100 inclusive')
  const fault = names.includes('userIds') ? xidsFault(userIds) : null
  return fault ? [...faults, `userIds ${fault}`] : faults
}
