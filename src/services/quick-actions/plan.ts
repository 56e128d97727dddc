import { Failure, refused } from '../../failures.js'
import { type Command, takeCommands } from '../../rules/quick-actions.js'
import type { Target } from '../activity/subscriptions.js'
import { COMMAND_NAMES, COMMANDS } from './commands.js'
import { type Acting, type Attributes, type Effect, rowOf } from './target.js'

/** Commands in one text, and characters of one argument. */
const MAX_COMMANDS = 100
const MAX_ARGUMENT = 4_096

/** A command with what it will do, or with the message that it cannot be done. */
interface Planned {
  name: string
  effect: Effect | string
}

/** A text without its commands, and what those will do. */
export interface Plan {
  text: string
  /** The changes of all commands that one update makes. */
  attributes: Attributes
  planned: Planned[]
}

const failed = (name: string) => `Could not apply ${name} command.`

/** Takes the commands out of a text, and finds out what they do here; changes nothing yet. */
export async function planCommands(given: Omit<Acting, 'attributes'>, text: string): Promise<Plan> {
  const taken = await takeCommands(given.ctx.cpu.slices, text, COMMAND_NAMES)
  if (taken.commands.length > MAX_COMMANDS) throw refused(`The text has too many commands (maximum is ${MAX_COMMANDS})`)
  const plan: Plan = { text: taken.text, attributes: {}, planned: [] }
  for (const command of taken.commands) {
    const planned = await planCommand({ ...given, attributes: plan.attributes }, command)
    plan.planned.push(planned)
    const { effect } = planned
    if (typeof effect !== 'string' && 'attributes' in effect) plan.attributes = withAttributes(plan.attributes, effect.attributes)
  }
  return plan
}

async function planCommand(acting: Acting, { name: written, argument }: Command): Promise<Planned> {
  const command = COMMANDS.get(written)
  const name = command?.names[0] ?? written
  const { target } = acting
  const there = rowOf(target) !== null || !command?.existing
  const usable = command && (command.on ?? target.type) === target.type && there && command.may(target)
  if (!usable || argument.length > MAX_ARGUMENT) return { name, effect: failed(name) }
  const effect = argument === '' && command.argument === 'required' ? command.without?.() : await command.plan(acting, argument)
  return { name, effect: effect ?? failed(name) }
}

/** Adds changes to others; labels add up, of everything else the later one holds. */
export const withAttributes = (before: Attributes, added: Attributes): Attributes => ({
  ...before,
  ...added,
  ...(added.add_labels && { add_labels: [...(before.add_labels ?? []), ...added.add_labels] }),
  ...(added.review_again && { review_again: [...(before.review_again ?? []), ...added.review_again] }),
  ...(added.remove_labels && { remove_labels: [...(before.remove_labels ?? []), ...added.remove_labels] }),
})

/** What the commands of a text have done. */
export interface Outcome {
  /** For `commands_changes`. */
  changes: Record<string, unknown>
  /** A sentence for each command. */
  messages: string[]
}

/**
 * Does what is planned: first the update of all attributes, then the rest in the order of the text, in which merging,
 * rebasing and moving come last. What is refused is reported as not applied (QA-3).
 */
export async function carryOut({ planned }: Plan, target: Target, update: () => Promise<unknown>): Promise<Outcome> {
  const changesAttributes = planned.some(({ effect }) => typeof effect !== 'string' && 'attributes' in effect)
  const updated = changesAttributes && (await unlessRefused(update)) !== null
  const messages = new Map<Planned, string | null>()
  const late = ({ effect }: Planned) => typeof effect !== 'string' && 'act' in effect && effect.last === true
  for (const each of [...planned.filter((one) => !late(one)), ...planned.filter(late)]) {
    const { effect } = each
    if (typeof effect === 'string') messages.set(each, null)
    else if ('act' in effect) messages.set(each, await unlessRefused(() => effect.act(target)))
    else messages.set(each, updated ? effect.message : null)
  }
  const done = planned.filter((each) => messages.get(each) !== null)
  return {
    changes: done.reduce((changes, { effect }) => (typeof effect === 'string' ? changes : withShown(changes, effect.shown)), {}),
    messages: planned.map((each) => messages.get(each) ?? (typeof each.effect === 'string' ? each.effect : failed(each.name))),
  }
}

/** Adds shown changes to others: lists of added and removed labels add up. */
function withShown(before: Record<string, unknown>, added: Record<string, unknown>): Record<string, unknown> {
  const lists = (['add_label_ids', 'remove_label_ids'] as const).filter((name) => name in before && name in added)
  const joined = lists.map((name) => [name, [...new Set([before[name], added[name]].flat())]])
  return { ...before, ...added, ...Object.fromEntries(joined) }
}

async function unlessRefused<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}
