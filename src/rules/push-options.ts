/** What the options of a push ask for a merge request of each pushed branch (PO-6). */
export interface MergeRequestOptions {
  create: boolean
  target?: string
  title?: string
  description?: string
  milestone?: string
  draft?: boolean
  remove_source_branch?: boolean
  merge_when_pipeline_succeeds?: boolean
  label: string[]
  unlabel: string[]
  /** Usernames or ids. */
  assign: string[]
  unassign: string[]
}

/** What the options of a push ask for (PO-1). */
export interface PushOptions {
  skipsCi: boolean
  /** Each `KEY=VALUE` of `ci.variable`, unchecked. */
  variables: string[]
  /** Null if none of the options is about merge requests. */
  mergeRequest: MergeRequestOptions | null
}

const FLAGS = ['create', 'draft', 'remove_source_branch', 'merge_when_pipeline_succeeds'] as const
const TEXTS = ['target', 'title', 'description', 'milestone'] as const
const LISTS = ['label', 'unlabel', 'assign', 'unassign'] as const

const isOneOf = <T extends string>(names: readonly T[], name: string): name is T => (names as readonly string[]).includes(name)

/** A flag is set by its name alone, or by any value but these. */
const UNSET = new Set(['false', '0'])

/** Reads the options of a push; unknown ones, and texts without a value, are ignored (PO-1). */
export function readPushOptions(options: string[]): PushOptions {
  const read: PushOptions = { skipsCi: false, variables: [], mergeRequest: null }
  for (const option of options) {
    const [, kind = '', name = '', value = ''] = /^(ci|merge_request|mr)\.([a-z_]+)(?:=(.*))?$/s.exec(option) ?? []
    if (kind === 'ci') {
      if (name === 'variable') read.variables.push(value)
      else read.skipsCi ||= name === 'skip' && !UNSET.has(value)
    } else if (isOneOf([...FLAGS, ...TEXTS, ...LISTS], name)) {
      read.mergeRequest ??= { create: false, label: [], unlabel: [], assign: [], unassign: [] }
      if (isOneOf(FLAGS, name)) read.mergeRequest[name] = !UNSET.has(value)
      else if (value.trim() === '') continue
      else if (isOneOf(TEXTS, name)) read.mergeRequest[name] = value
      else read.mergeRequest[name].push(value)
    }
  }
  return read
}
