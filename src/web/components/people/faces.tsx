import type { UserRefRecord } from '../../../services/identity/user-ref.js'
import type { PageView } from '../../page.js'
import { Avatar } from './avatar.js'

/** The most pictures of a row; the number of the others stands beside them. */
const MAX_FACES = 4

interface FacesProps {
  view: PageView
  people: readonly UserRefRecord[]
  /** What they are, before their names. */
  as: string
  size?: 'small'
}

/** The pictures of several people in a row, with their names for those who do not see them; nothing without people. */
export function Faces({ view, people, as, size }: FacesProps) {
  if (people.length === 0) return null
  const text = `${as} ${people.map(({ name }) => name).join(', ')}`
  const shown = people.length > MAX_FACES ? people.slice(0, MAX_FACES - 1) : people
  return (
    <span class="faces" title={text}>
      {shown.map((user) => (
        <Avatar key={user.id} view={view} user={user} {...(size && { size })} />
      ))}
      {people.length > shown.length && (
        <span class="dim" aria-hidden="true">
          +{people.length - shown.length}
        </span>
      )}
      <span class="hidden">{text}</span>
    </span>
  )
}
