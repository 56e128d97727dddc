import { z } from 'zod'

/** How a text names a thing: within its project, from where one looks, and from anywhere. */
export const References = z.strictObject({ short: z.string(), relative: z.string(), full: z.string() })

/** What a list is about: a project, a group by its full path, or all. References are told from there. */
export type Standpoint = { project: true } | { group: string } | 'everywhere'

function relativeTo(from: Standpoint, path: string, short: string): string {
  if (from === 'everywhere') return `${path}${short}`
  if ('project' in from) return short
  return path.startsWith(`${from.group}/`) ? `${path.slice(from.group.length + 1)}${short}` : `${path}${short}`
}

/** `path` is the full path of the project the thing is in. */
export const presentReferences = (path: string, short: string, from: Standpoint): z.infer<typeof References> => ({
  short,
  relative: relativeTo(from, path, short),
  full: `${path}${short}`,
})
