import { z } from 'zod'

export const CustomAttribute = z
  .strictObject({ key: z.string(), value: z.string() })
  .meta({ id: 'CustomAttribute', description: 'A key and a value that administrators attached.' })

/** Attributes that a user, group or project may have in addition to its own fields (W-11). */
export const noted = { custom_attributes: z.array(CustomAttribute).optional() }

/** Adds the attributes if the caller requested them. */
export const withAttributes = <T extends object>(shown: T, attributes: z.infer<typeof CustomAttribute>[] | undefined) =>
  attributes ? { ...shown, custom_attributes: attributes } : shown
