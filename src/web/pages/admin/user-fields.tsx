import { z } from 'zod'
import { bool, opt, orDefault, str } from '../../../http/params.js'
import type { UserRecord } from '../../../services/identity/users.js'
import { Checkbox, Field, SelectField } from '../../components/form.js'
import { Badge } from '../../components/list.js'
import type { Fields } from '../../fields.js'
import { t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'

export const adminUserPath = (username: string) => `/admin/users/${inUrl(username)}`

/** What an account is besides active. */
export const StateBadges = ({ user }: { user: Pick<UserRecord, 'state' | 'admin' | 'external' | 'confirmed_at' | 'two_factor_enabled'> }) => (
  <>
    {user.state === 'blocked_pending_approval' && <Badge kind="waiting">{t('waits for approval')}</Badge>}{' '}
    {user.state === 'banned' && <Badge kind="danger">{t('banned')}</Badge>} {user.state === 'deactivated' && <Badge>{t('deactivated')}</Badge>}{' '}
    {user.state === 'blocked' && <Badge kind="danger">{t('blocked')}</Badge>}{' '}
    {user.state === 'ldap_blocked' && <Badge kind="danger">{t('blocked by the directory')}</Badge>}{' '}
    {user.admin && <Badge kind="success">{t('administrator')}</Badge>} {user.external && <Badge>{t('external')}</Badge>}{' '}
    {user.confirmed_at === null && <Badge kind="waiting">{t('address not confirmed')}</Badge>}
  </>
)

interface KindsProps {
  view: PageView
  fields: Fields<z.infer<typeof kinds>>
  user?: UserRecord
  /** They are the last active administrator. */
  last?: boolean
}

/** What an account may do. */
export const Kinds = ({ view, fields: f, user, last = false }: KindsProps) => {
  return (
    <>
      <SelectField
        {...f.admin}
        label={t('Access')}
        value={user?.admin ? '1' : '0'}
        {...(last && { hint: t('The only administrator keeps these rights: make somebody else one first.') })}
        choices={[...(last ? [] : [{ value: '0', label: t('Regular') }]), { value: '1', label: t('Administrator: may do and see everything') }]}
      />
      <Checkbox
        {...f.external}
        label={t('External')}
        hint={t('Sees only projects of which they are a member, and public ones; makes no projects and groups.')}
        checked={user?.external ?? view.settings.user_default_external}
      />
      <Checkbox {...f.can_create_group} label={t('May create groups')} checked={user?.can_create_group ?? true} />
      <Field
        {...f.projects_limit}
        type="number"
        label={t('Personal projects at most')}
        value={String(user?.projects_limit ?? view.settings.default_projects_limit)}
      />
    </>
  )
}

/** The fields of `Kinds`. */
export const kinds = z.object({
  admin: orDefault(bool(), false),
  external: orDefault(bool(), false),
  can_create_group: orDefault(bool(), false),
  projects_limit: opt(str()),
})

/** A number that was typed; what is none is refused as a number out of range is. */
export const limitOf = (text: string | undefined): number | undefined =>
  text === undefined || text === '' ? undefined : /^\d{1,15}$/.test(text) ? Number(text) : -1
