import { ActionButton } from '../components/form.js'
import type { PageView } from '../page.js'

/** Says at the top of every page that an administrator acts as another user, and leads back (WB-203). */
export function ImpersonationBar({ view }: { view: PageView }) {
  const { session } = view
  if (!session?.impersonator) return null
  const { user } = session.caller
  return (
    <aside class="impersonation" aria-label="Acting as another user">
      <p>
        You are{' '}
        <strong>
          {user.name} (@{user.username})
        </strong>{' '}
        as administrator @{session.impersonator.username}. What you do is done in their name.
      </p>
      <ActionButton view={view} action="/-/impersonation" method="DELETE" label="Stop" what={`acting as ${user.username}`} />
    </aside>
  )
}
