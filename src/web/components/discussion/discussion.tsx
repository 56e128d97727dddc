import type { DiscussionRecord } from '../../../services/notes/list.js'
import type { PageView } from '../../page.js'
import { inChunks, PagePart } from '../../page-part.js'
import { Avatar } from '../people/avatar.js'
import { SystemNote } from './note.js'
import type { DiscussionParts } from './shown.js'
import { isUnresolved, Thread, type ThreadProps } from './thread.js'

interface Props extends DiscussionParts {
  view: PageView
  discussions: DiscussionRecord[]
}

/** Discussions that are rendered without a pause. */
const SHOWN_TOGETHER = 10

/** Discussions in their order: comments, threads with their replies, and what happened in between. */
export function Discussions({ discussions, ...parts }: Props) {
  const open = discussions.filter(isUnresolved)
  const next = new Map(open.map(({ id }, i) => [id, open[(i + 1) % open.length]?.id ?? id]))
  return (
    <ol class="discussion">
      {inChunks(discussions, SHOWN_TOGETHER).map((chunk) => (
        <PagePart key={chunk[0]?.id}>
          {chunk.map((discussion) => (
            <Listed key={discussion.id} {...parts} discussion={discussion} next={open.length > 1 ? next.get(discussion.id) : undefined} />
          ))}
        </PagePart>
      ))}
    </ol>
  )
}

function Listed(props: ThreadProps) {
  const { discussion, texts, view } = props
  const [first] = discussion.notes
  if (!first) return null
  if (first.note.system) return <SystemNote view={view} record={first} text={texts.get(first.note.id)?.join('') ?? ''} />
  return (
    <li class="talk">
      <Avatar view={view} user={first.author} size="large" />
      <div class="box thread" id={`discussion_${discussion.id}`}>
        <Thread {...props} />
      </div>
    </li>
  )
}
