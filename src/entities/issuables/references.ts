import { z } from 'zod'

/** How texts refer to a thing: within its project, from the viewed place, and from anywhere. */
export const References = z.strictObject({ short: z.string(), relative: z.string(), full: z.string() })

/**
 * The place a list belongs to: a project, a group by its full path, or everywhere. Relative references start from
 * there.
 */
export type Standpoint = { project: true } | { group: string } | 'everywhere'

function relativeTo(from: Standpoint, path: string, short: string): string {
  if (from === 'everywhere') return `${path}${short}`
  if ('project' in from) return short
  return path.startsWith(`${from.group}/`) ? `${path.slice(from.group.length + 1)}${short}` : `${path}${short}`
}

/** `path` is the full path of the project that the thing belongs to. */
export const presentReferences = (path: string, short: string, from: Standpoint): z.infer<typeof References> => ({
  short,
  relative: relativeTo(from, path, short),
  full: `${path}${short}`,
})
