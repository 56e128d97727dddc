import { z } from 'zod'

export const CustomAttribute = z.strictObject({ key: z.string(), value: z.string() }).meta({ id: 'CustomAttribute' })

/** What may stand on a user, group or project beside its own fields (W-11). */
export const noted = { custom_attributes: z.array(CustomAttribute).optional() }

/** Adds the attributes where they were asked for. */
export const withAttributes = <T extends object>(shown: T, attributes: z.infer<typeof CustomAttribute>[] | undefined) =>
  attributes ? { ...shown, custom_attributes: attributes } : shown
