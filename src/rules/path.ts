/** Names that users and top-level groups cannot have (GR-25). */
const RESERVED_TOP = new Set(
  '- .well-known 404.html 422.html 500.html 502.html 503.html abuse_reports admin api apple-touch-icon-precomposed.png apple-touch-icon.png assets autocomplete ci dashboard deploy.html explore favicon.ico favicon.png files groups health_check help import invites jwt login new webide notification_settings oauth profile projects public robots.txt s search sent_notifications slash-command-logo.png snippets u unsubscribes uploads users v2'.split(
    ' ',
  ),
)

/** Names that subgroups and projects cannot have (GR-25). */
const RESERVED_BELOW = new Set(
  '- badges blame blob builds commits create create_dir edit files find_file new preview raw refs tree update wikis'.split(' '),
)

/** Parts of an address in which the path of a project is looked for: groups have at most 20 levels. */
export const MAX_PATH_PARTS = 24

/** Whether no project or subgroup can have this name, so that what stands before it in an address is a whole path. */
export const isReservedBelow = (name: string): boolean => RESERVED_BELOW.has(name.toLowerCase())

/** Ends the paths and names of projects and groups that wait for their removal, so that their own are free (PR-28). */
const DELETION_SUFFIX = /-deletion_scheduled-\d+$/i
const SUFFIX_RESERVED = "cannot end in '-deletion_scheduled-' and a number"

export const deletionSuffix = (id: number) => `-deletion_scheduled-${id}`

/** The full path, or a part of it, as it was before what it names was deleted. */
export const formerPath = (path: string) => path.replace(/-deletion_scheduled-\d+(?=\/|$)/g, '')

const BLANK = "can't be blank"
const PATH_FORMAT = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.', '.git' or '.atom'."
const PROJECT_PATH_FORMAT = "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'"
const PROJECT_NAME_FORMAT = "can contain only letters, digits, emojis, '_', '.', dash, space. It must start with letter, digit, emoji or '_'."
const GROUP_NAME_FORMAT = "can contain only letters, digits, '_', '.', dash and space."

export const tooLong = (limit: number) => `is too long (maximum is ${limit} characters)`

/** No text of anything has more characters; those of one with twice as many units need not be counted. */
const LONGEST = 1_048_576

/** Length in code points, as users count characters, not in UTF-16 units. */
export function lengthOf(text: string): number {
  // of a body of 8 MiB this takes 5 ms, counting 50, and a list of the characters a second
  if (text.length > 2 * LONGEST || !/[\ud800-\udbff]/.test(text)) return text.length
  let pairs = 0
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) pairs++
  return text.length - pairs
}

/** What is wrong with the path of a user or group (AC-17, GR-24); empty if it is valid. */
export function namespacePathFaults(path: string, place: 'top' | 'below'): string[] {
  const faults: string[] = []
  if (path === '') faults.push(BLANK)
  if (lengthOf(path) > 255) faults.push(tooLong(255))
  if (DELETION_SUFFIX.test(path)) faults.push(SUFFIX_RESERVED)
  if (!/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(path) || path.endsWith('.') || /\.(git|atom)$/i.test(path)) faults.push(PATH_FORMAT)
  // `/NAME.keys` and the like are addresses of what the name before the dot has
  if (place === 'top' && /\.(?:keys|gpg|ics|json|html)$/i.test(path)) faults.push('ends as an address does that is taken')
  if ((place === 'top' ? RESERVED_TOP : RESERVED_BELOW).has(path.toLowerCase())) faults.push(`${path} is a reserved name`)
  return faults
}

/** What is wrong with the path of a project, which may end in a dot (AC-17, AC-18). */
export function projectPathFaults(path: string): string[] {
  const faults: string[] = []
  if (path === '') faults.push(BLANK)
  if (lengthOf(path) > 255) faults.push(tooLong(255))
  if (DELETION_SUFFIX.test(path)) faults.push(SUFFIX_RESERVED)
  if (!/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(path) || /^\.{1,2}$/.test(path) || /\.(git|atom)$/i.test(path)) faults.push(PROJECT_PATH_FORMAT)
  if (RESERVED_BELOW.has(path.toLowerCase()) || path.toLowerCase() === 'info') faults.push(`${path} is a reserved name`)
  return faults
}

/** What is wrong with the name of a project (AC-19). */
export function projectNameFaults(name: string): string[] {
  if (name.trim() === '') return [BLANK]
  const faults: string[] = []
  if (lengthOf(name) > 255) faults.push(tooLong(255))
  if (DELETION_SUFFIX.test(name)) faults.push(SUFFIX_RESERVED)
  if (!/^[\p{L}\p{N}\p{Extended_Pictographic}_][\p{L}\p{N}\p{M}\p{Pd}\p{Extended_Pictographic}\p{Cf}\p{Emoji_Modifier}_. -]*$/u.test(name))
    faults.push(PROJECT_NAME_FORMAT)
  return faults
}

/** What is wrong with the name of a group (GR-27). */
export function groupNameFaults(name: string): string[] {
  if (name.trim() === '') return [BLANK]
  const faults: string[] = []
  if (lengthOf(name) > 255) faults.push(tooLong(255))
  if (DELETION_SUFFIX.test(name)) faults.push(SUFFIX_RESERVED)
  if (!/^[\p{L}\p{N}\p{M}\p{Pd}_. -]+$/u.test(name)) faults.push(GROUP_NAME_FORMAT)
  return faults
}

/** A path derived from a name (PR-15): lower case, with a dash for every run of other characters. */
export const pathFromName = (name: string) =>
  name
    // a longer name is refused
    .slice(0, 1_000)
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, '-')
    .replace(/^-+/, '')

const FILEPATH = /^(?:\/[A-Za-z0-9_][\w.+-]*)+$/
const MAX_FILEPATH = 255

/** Whether this is a valid path of a release link: an absolute path of plain names. */
export const isFilepath = (text: string): boolean => text.length <= MAX_FILEPATH && FILEPATH.test(text)

/**
 * Whether a name is `.` or `..`: clients drop such a part of an address with the one before it, so that a call about the
 * thing would be one about its project.
 */
export const isDots = (name: string): boolean => name === '.' || name === '..'

const TAGS = 'refs/tags/'

/** A tag in the address of its page or its release: `new` is the form for another one, so that tag is named in full there. */
export const tagInAddress = (tag: string): string => (tag === 'new' || tag.startsWith(TAGS) ? TAGS + tag : tag)

/** The tag that an address names. */
export const tagOfAddress = (named: string): string => (named.startsWith(TAGS) ? named.slice(TAGS.length) : named)
