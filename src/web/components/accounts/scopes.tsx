import { Fragment } from 'preact'
import type { Scope } from '../../../access/scopes.js'
import { t } from '../../language/language.js'
import { Badge } from '../list.js'

/** What each scope opens, for those who give it. */
export const scopeMeanings = (): Record<Scope, string> => ({
  api: t('Everything that you may do, over the API and Git'),
  read_api: t('Read everything that you may read over the API'),
  read_user: t('Read your profile'),
  read_repository: t('Clone and fetch over HTTP'),
  write_repository: t('Clone, fetch and push over HTTP'),
  sudo: t('Act as any user (administrators)'),
  openid: t('Sign you in: your name, username, picture and groups'),
  profile: t('Your name, username and picture'),
  email: t('Your e-mail address'),
})

export const ScopeBadges = ({ scopes }: { scopes: string[] }) => (
  <>
    {scopes.map((scope) => (
      <Fragment key={scope}>
        <Badge>{scope}</Badge>{' '}
      </Fragment>
    ))}
  </>
)
