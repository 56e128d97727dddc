import { ActionButton } from '../components/form.js'
import { t } from '../language/language.js'
import { Phrase } from '../language/phrase.js'
import type { PageView } from '../page.js'

/** Says at the top of every page that an administrator acts as another user, and leads back (WB-203). */
export function ImpersonationBar({ view }: { view: PageView }) {
  const { session } = view
  if (!session?.impersonator) return null
  const { user } = session.caller
  return (
    <aside class="impersonation" aria-label={t('Acting as another user')}>
      <p>
        <Phrase
          text="You are {strong} as administrator @{username}. What you do is done in their name."
          strong={
            <strong>
              {user.name} (@{user.username})
            </strong>
          }
          username={session.impersonator.username}
        />
      </p>
      <ActionButton
        view={view}
        action="/-/impersonation"
        method="DELETE"
        label={t('Stop')}
        what={t('acting as {username}', { username: user.username })}
      />
    </aside>
  )
}
