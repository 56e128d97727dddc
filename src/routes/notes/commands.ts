import { Answer } from '../../http/endpoint.js'
import type { Noted } from '../../services/quick-actions/notes.js'

/** For the reference. */
export const ONLY_COMMANDS = 'A text that has only commands, such as `/close`, makes no note: the answer is 202 with what they did.'

/** The note with what the commands in its text changed, or 202 if it had only commands (QA-2). */
export const answerOf = <T>({ made, outcome: { changes, messages } }: Noted<T>, present: (made: T, changes: Record<string, unknown>) => unknown) =>
  made === null ? new Answer(202, { commands_changes: changes, summary: [messages.join(' ')] }) : present(made, changes)
