import { z } from 'zod'
import type { Context } from '../../context.js'
import { unsealed } from '../core/unsealed.js'
import { VARIABLE_KEY } from './variables.js'

const pushVariables = z.array(z.object({ key: z.string(), value: z.string() }))

/** Binds the variables of a push to its project until its pipelines are made. */
const pushPurpose = (project: number) => `variables of a push to project ${project}`

const MALFORMED = 'ci.variable is ignored where it is not KEY=VALUE with a key of letters, digits and _'

/**
 * Encrypts the variables that the options of a push give to its pipelines, of those with one key the last (PO-20); and
 * warns of others.
 */
export function sealPushVariables(ctx: Pick<Context, 'encryption'>, project: number, options: string[]) {
  const values = new Map<string, string>()
  let malformed = false
  for (const option of options) {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(option) ?? []
    if (VARIABLE_KEY.test(key)) values.set(key, value)
    else malformed = true
  }
  const variables = [...values].map(([key, value]) => ({ key, value }))
  return {
    sealed: variables.length > 0 ? ctx.encryption.seal(JSON.stringify(variables), pushPurpose(project)) : undefined,
    warnings: malformed ? [MALFORMED] : [],
  }
}

/** The variables of a push; null where they cannot be decrypted any more. */
export function openPushVariables(ctx: Pick<Context, 'encryption' | 'log'>, project: number, sealed: string) {
  const text = unsealed(ctx, sealed, pushPurpose(project))
  return text === null ? null : pushVariables.parse(JSON.parse(text))
}
