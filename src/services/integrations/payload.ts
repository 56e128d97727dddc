/** The parts of webhook payloads that integrations read (chapter 25). */

export interface Person {
  name: string | null
  username: string | null
  avatar_url: string | null
}

export interface Commit {
  id: string
  title: string
  message: string
  url: string
  author: { name: string; email: string }
}

interface Common {
  project: { id: number; name: string; namespace: string; path_with_namespace: string; web_url: string; default_branch: string | null }
}

export interface PushPayload extends Common {
  object_kind: 'push' | 'tag_push'
  ref: string
  before: string
  after: string
  checkout_sha: string | null
  user_name: string | null
  user_username: string | null
  user_avatar: string | null
  commits: Commit[]
  total_commits_count: number
}

interface IssuableFacts {
  iid: number
  title: string
  description: string | null
  url: string
  state: string
}

export interface IssuablePayload extends Common {
  object_kind: 'issue' | 'merge_request'
  event_type: string
  user: Person | null
  object_attributes: IssuableFacts & { action: string; source_branch?: string; target_branch?: string }
}

export interface NotePayload extends Common {
  object_kind: 'note'
  event_type: string
  user: Person | null
  object_attributes: { note: string; url: string; noteable_type: string; action: string }
  issue?: IssuableFacts
  merge_request?: IssuableFacts
  commit?: Commit
  snippet?: { id: number; title: string }
}

export interface PipelinePayload extends Common {
  object_kind: 'pipeline'
  user: Person | null
  object_attributes: { id: number; ref: string; tag: boolean; status: string; duration: number | null; url: string; sha: string }
  commit: Commit | null
  builds: { id: number; name: string; stage: string; status: string; allow_failure: boolean }[]
}

export interface WikiPayload extends Common {
  object_kind: 'wiki_page'
  user: Person | null
  object_attributes: { title: string; url: string; action: string; message: string }
}

export type Payload = PushPayload | IssuablePayload | NotePayload | PipelinePayload | WikiPayload

const KINDS = new Set(['push', 'tag_push', 'issue', 'merge_request', 'note', 'pipeline', 'wiki_page'])

/** The body of a webhook as integrations read it; null for one that they do not know. */
export const payloadOf = (body: object): Payload | null =>
  'object_kind' in body && typeof body.object_kind === 'string' && KINDS.has(body.object_kind) ? (body as Payload) : null

/** What a ref does not have when it is new or gone. */
const ZERO = '0'.repeat(40)
export const isNewRef = ({ before }: PushPayload) => before === ZERO
export const isGone = ({ after }: PushPayload) => after === ZERO
export const nameOfRef = ({ ref }: PushPayload) => ref.replace(/^refs\/(heads|tags)\//, '')

/** The branch that an event is about; null for tags and for what is about none. */
export function branchOf(payload: Payload): string | null {
  if (payload.object_kind === 'push') return nameOfRef(payload)
  if (payload.object_kind === 'pipeline') return payload.object_attributes.tag ? null : payload.object_attributes.ref
  return null
}

export interface BranchFacts {
  isDefault: boolean
  isProtected: boolean
}

/** Whether the branch of an event is among `branches_to_be_notified` (SV-9). */
export function isBranchWanted(choice: string, facts: BranchFacts | null): boolean {
  if (facts === null) return true
  if (choice === 'default') return facts.isDefault
  if (choice === 'protected') return facts.isProtected
  return choice === 'default_and_protected' ? facts.isDefault || facts.isProtected : true
}

/** Whether the end of a pipeline makes a message: a failure, or a success unless only failures count (SV-9). */
export const isEndWanted = ({ object_attributes: { status } }: PipelinePayload, brokenOnly: boolean) =>
  status === 'failed' || (status === 'success' && !brokenOnly)
