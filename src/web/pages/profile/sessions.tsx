import { z } from 'zod'
import { signedIn } from '../../../access/rules.js'
import { rowId } from '../../../http/params.js'
import { endSession, listSessions } from '../../../services/identity/sign-in/sessions.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { SettingsLayout } from '../../layout/settings.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/-/profile/active_sessions'

const BROWSERS = ['Firefox', 'Edg', 'OPR', 'Chrome', 'Safari', 'curl'] as const
const NAMES: Partial<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' }
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'] as const

/** The browser and the system that a User-Agent header names, as far as people know them by name. */
export function agentText(header: string): string {
  const browser = BROWSERS.find((name) => header.includes(`${name}/`))
  const system = SYSTEMS.find((name) => header.includes(name))
  const shown = browser ? (NAMES[browser] ?? browser) : t('A browser')
  return system ? t('{browser} on {system}', { browser: shown, system: system.replace('Mac OS X', 'macOS') }) : shown
}

export const sessionsPage = page({
  at: AT,
  formerly: ['/profile/active_sessions', '/-/user_settings/active_sessions'],
  access: signedIn,
  ownerOnly: true,
  async show({ ctx, caller, view }) {
    const sessions = await listSessions(ctx, caller.user.id)
    return {
      title: t('Sessions'),
      body: (
        <SettingsLayout view={view} at={AT} title={t('Sessions')}>
          <p>{t('Browsers in which you are signed in. End those that you do not know, and change your password.')}</p>
          <Rows empty="">
            {sessions.map(({ id, address, user_agent, created_at, last_used_at }) => (
              <Row
                key={id}
                actions={
                  id !== view.session?.id && (
                    <ActionButton
                      view={view}
                      action={`${AT}/${id}`}
                      method="DELETE"
                      label={t('End')}
                      what={t('the session from {address}', { address })}
                      class="danger"
                    />
                  )
                }
              >
                <span>
                  <strong>{agentText(user_agent)}</strong> {id === view.session?.id && <Badge kind="success">{t('this one')}</Badge>}
                </span>
                <span class="dim">
                  <Phrase
                    text="{address}, signed in {time}, last used {time2}"
                    address={address}
                    time={<Time at={created_at} />}
                    time2={<Time at={last_used_at} />}
                  />
                </span>
              </Row>
            ))}
          </Rows>
        </SettingsLayout>
      ),
    }
  },
})

export const sessionEnd = form({
  at: `${AT}/:session_id`,
  method: 'DELETE',
  access: signedIn,
  ownerOnly: true,
  input: z.object({ session_id: rowId() }),
  async submit({ ctx, caller, input }) {
    await endSession(ctx, caller.user, input.session_id)
    return new Redirect(AT, { notice: t('The session is ended.') })
  },
})
