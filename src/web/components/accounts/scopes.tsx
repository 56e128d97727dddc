import { Fragment } from 'preact'
import type { Scope } from '../../../access/scopes.js'
import { Badge } from '../list.js'

/** What each scope opens, for those who give it. */
export const SCOPE_MEANINGS: Record<Scope, string> = {
  api: 'Everything that you may do, over the API and Git',
  read_api: 'Read everything that you may read over the API',
  read_user: 'Read your profile',
  read_repository: 'Clone and fetch over HTTP',
  write_repository: 'Clone, fetch and push over HTTP',
  sudo: 'Act as any user (administrators)',
  openid: 'Sign you in: your name, username, picture and groups',
  profile: 'Your name, username and picture',
  email: 'Your e-mail address',
}

export const ScopeBadges = ({ scopes }: { scopes: string[] }) => (
  <>
    {scopes.map((scope) => (
      <Fragment key={scope}>
        <Badge>{scope}</Badge>{' '}
      </Fragment>
    ))}
  </>
)
