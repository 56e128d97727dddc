import type { Commit } from '../../../git/types.js'
import { titleOf as commitTitle } from '../../../rules/commit-title.js'
import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import type { ProjectLinks } from '../../links.js'
import type { PageView } from '../../page.js'
import { Marked } from '../marked.js'
import { Time } from '../time.js'
import { Author } from './code.js'

/** The title of a commit in a list, as in the API. */
export const titleOf = ({ message }: Pick<Commit, 'message'>): string => commitTitle(message)

/** The moment of a signature; the nearest that can be shown for one that is out of range. */
export const momentOf = ({ seconds }: { seconds: number }): Date => new Date(Math.max(-8.64e12, Math.min(8.64e12, seconds)) * 1000)

interface CommitProps {
  view: PageView
  commit: Commit
  links: ProjectLinks
  /** Users by the addresses of authors. */
  users: Map<string, UserRefRecord>
  /** The words that were searched for. */
  wanted?: string
}

/** A commit in a list: its title, its author, and when it was made. */
export const CommitText = ({ view, commit, links, users, wanted = '' }: CommitProps) => (
  <>
    <a href={links.commit(commit.oid)} class="title">
      <Marked text={titleOf(commit)} wanted={wanted} />
    </a>
    <span class="dim">
      <Author view={view} commit={commit} users={users} /> · <Time at={momentOf(commit.committer)} />
    </span>
  </>
)
