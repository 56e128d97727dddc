import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import { adminFirst } from '../../access/rules.js'
import { showsSecrets } from '../../access/scopes.js'
import { invalidInput } from '../../failures.js'
import { endpoint } from '../../http/endpoint.js'
import { severalUnderOneName, unknownNames } from '../../http/params.js'
import { type SettingsInput, type SettingsRecord, showSettings, updateSettings } from '../../services/core/settings.js'
import { DEPENDENTS, SECRETS, SETTING_NAMES, SETTINGS, type SettingName } from '../../services/core/settings-table.js'
import { type Attribute, readValue } from './values.js'

/** JSON Schema types, for the reference. */
const TYPES: Record<Attribute['kind'], object> = {
  bool: { type: 'boolean' },
  text: { type: ['string', 'null'] },
  secret: { type: ['string', 'null'] },
  duration: { type: 'string' },
  group: { type: ['string', 'null'] },
  int: { type: ['integer', 'null'] },
  decimal: { type: ['number', 'null'] },
  word: { type: 'string' },
  protocol: { type: ['string', 'null'] },
  level: { type: 'integer' },
  bits: { type: 'integer', minimum: -1 },
  list: { type: ['array', 'null'], items: { type: 'string' } },
}

const STORED_ONLY = 'Stored and returned, without effect.'

const parameter = (name: SettingName) => {
  const attribute = SETTINGS[name] as Attribute
  const type = z
    .unknown()
    .optional()
    .transform((value, found) => {
      if (value === undefined) return undefined
      const read = readValue(attribute, value)
      if ('value' in read) return read.value
      for (const text of read.texts) found.addIssue({ code: 'custom', message: text, params: { sentence: `${name} ${text}` } })
      return z.NEVER
    })
    .meta({ ...TYPES[attribute.kind], description: attribute.effect ?? STORED_ONLY })
  return attribute.kind === 'list' ? severalUnderOneName(type) : type
}

/**
 * Enabling a setting requires its dependents (AS-10). Unknown names are kept, so that the error can name them.
 */
function changes() {
  let schema = z.looseObject(Object.fromEntries(SETTING_NAMES.map((name) => [name, parameter(name)])))
  for (const [name, dependents] of Object.entries(DEPENDENTS)) {
    for (const dependent of dependents) {
      schema = schema.refine((bag) => bag[name] !== true || bag[dependent] !== undefined, {
        path: [dependent],
        when: () => true,
        params: { sentence: `${dependent} is missing` },
      })
    }
  }
  return schema
}

/** At least one setting is required; if only unknown names were sent, the error lists them (AS-4). */
function known(bag: Record<string, unknown>): SettingsInput {
  const given = SETTING_NAMES.filter((name) => bag[name] !== undefined)
  if (given.length > 0) return Object.fromEntries(given.map((name) => [name, bag[name]])) as SettingsInput
  const named = unknownNames(bag, (name) => Object.hasOwn(SETTINGS, name))
  const missing = `${SETTING_NAMES.join(', ')} are missing, at least one parameter must be provided`
  throw invalidInput(named.length > 0 ? `no such setting: ${named.join(', ')}; ${missing}` : missing)
}

const shapeOf = ({ kind }: Attribute): z.ZodType => {
  switch (kind) {
    case 'bool':
      return z.boolean()
    case 'int':
      return z.int().nullable()
    case 'decimal':
      return z.number().nullable()
    case 'level':
    case 'bits':
      return z.int()
    case 'list':
      return z.array(z.string()).nullable()
    default:
      return z.string().nullable()
  }
}

const ApplicationSettings = z
  .strictObject({
    id: z.literal(1),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    ...Object.fromEntries(SETTING_NAMES.map((name) => [name, shapeOf(SETTINGS[name] as Attribute)])),
  })
  .meta({ id: 'ApplicationSettings', description: 'All settings of the server.' })

/** Secret settings are null for a token without scope `api` (SEC-265). */
const present = ({ created_at, updated_at, values }: SettingsRecord, { token }: SignedIn) => ({
  id: 1,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
  ...Object.fromEntries(SETTING_NAMES.map((name) => [name, SECRETS.has(name) && !showsSecrets(token.scopes) ? null : values[name]])),
})

/** Application settings (AS-1 to AS-73). */
export const settings = [
  endpoint({
    method: 'GET',
    path: '/application/settings',
    summary: 'Get the application settings',
    access: adminFirst,
    output: ApplicationSettings,
    handler: async ({ ctx, caller }) => present(await showSettings(ctx), caller),
  }),
  endpoint({
    method: 'PUT',
    path: '/application/settings',
    summary: 'Update application settings',
    description: 'Updates only the given settings; some require others.',
    access: adminFirst,
    openWhen: ['read_only'],
    input: changes(),
    output: ApplicationSettings,
    handler: async ({ ctx, caller, input }) => present(await updateSettings(ctx, caller, known(input)), caller),
  }),
]
