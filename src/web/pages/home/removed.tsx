import { signedIn } from '../../../access/rules.js'
import { listRestorable } from '../../../services/operations/restorable.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Row, Rows } from '../../components/list.js'
import { DashboardTabs } from '../../components/projects/dashboard.js'
import { dayText } from '../../components/time.js'
import { said, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { DELETED_PROJECTS, inUrl } from '../../links.js'
import { page } from '../../page.js'

/** What the caller may give back before it is removed (WB-153). */
export const removedPage = page({
  at: DELETED_PROJECTS,
  access: signedIn,
  ownerOnly: false,
  async show({ ctx, caller, view }) {
    const found = await listRestorable(ctx, caller)
    return {
      title: t('Deleted'),
      body: (
        <>
          <h1>{t('Deleted')}</h1>
          <DashboardTabs view={view} at={DELETED_PROJECTS} />
          <Rows empty={t('Nothing of yours waits for its removal.')}>
            {found.map(({ kind, id, full_path, former_path, due }) => {
              const home = `${kind === 'group' ? '/groups' : ''}/${inUrl(full_path)}`
              return (
                <Row
                  key={`${kind} ${id}`}
                  actions={
                    <>
                      <ActionButton view={view} action={`${home}/-/restore`} label={t('Restore')} what={former_path} />
                      <a
                        class="button"
                        href={`${view.links.prefix}${home}/-/settings/advanced`}
                        aria-label={t('Settings of {formerPath}', { formerPath: former_path })}
                      >
                        {t('Settings')}
                      </a>
                    </>
                  }
                >
                  <span>
                    <strong>{former_path}</strong> <Badge>{said(kind)}</Badge>
                  </span>
                  <span class="dim">
                    <Phrase text="Deleted for good on {day}" day={dayText(due)} />
                  </span>
                </Row>
              )
            })}
          </Rows>
        </>
      ),
    }
  },
})
