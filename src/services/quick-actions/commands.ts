import { ACTS } from './acts.js'
import { ATTRIBUTE_COMMANDS } from './attributes.js'
import type { CommandDefinition } from './target.js'

/** All commands by name. */
export const COMMANDS: ReadonlyMap<string, CommandDefinition> = new Map(
  [...ATTRIBUTE_COMMANDS, ...ACTS].flatMap((command) => command.names.map((name) => [name, command] as const)),
)

export const COMMAND_NAMES: ReadonlySet<string> = new Set(COMMANDS.keys())
