import { z } from 'zod'

/** References to an issue, merge request or the like: within its project, from the current list, and from anywhere. */
export const References = z.strictObject({ short: z.string(), relative: z.string(), full: z.string() })

/**
 * What a list belongs to: a project, a group by its full path, or the whole instance. Relative references are relative
 * to it.
 */
export type Standpoint = { project: true } | { group: string } | 'everywhere'

function relativeTo(from: Standpoint, path: string, short: string): string {
  if (from === 'everywhere') return `${path}${short}`
  if ('project' in from) return short
  return path.startsWith(`${from.group}/`) ? `${path.slice(from.group.length + 1)}${short}` : `${path}${short}`
}

/** `path` is the full path of the project, `short` the reference within it, such as `#3`. */
export const presentReferences = (path: string, short: string, from: Standpoint): z.infer<typeof References> => ({
  short,
  relative: relativeTo(from, path, short),
  full: `${path}${short}`,
})
