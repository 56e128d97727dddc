import type { JobRelease } from './types.js'

/** A text in double quotes of a shell, in which variables are replaced and nothing is run. */
const quoted = (text: string) => `"${text.replace(/\\(?!\$)|["`]|\$(?=\()/g, '\\$&')}"`

/** The command that makes the release of a job with the client of the original, which the image of the job has (CI-310). */
export function releaseScript({ name, description, tag_name, tag_message, ref, released_at, milestones, assets }: JobRelease): string {
  const flags: [string, string | null][] = [
    ['name', name],
    ['description', description],
    ['tag-name', tag_name],
    ['tag-message', tag_message],
    ['ref', ref],
    ['released-at', released_at],
    ...milestones.map((milestone): [string, string] => ['milestone', milestone]),
    ...assets.map(({ name, url, link_type, filepath }): [string, string] => [
      'assets-link',
      JSON.stringify({ name, url, ...(link_type && { link_type }), ...(filepath && { filepath }) }),
    ]),
  ]
  return ['release-cli create', ...flags.flatMap(([flag, value]) => (value === null ? [] : [`--${flag} ${quoted(value)}`]))].join(' ')
}
