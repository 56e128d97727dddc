import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { paging, rowId } from '../../../http/params.js'
import { closeReport, listReports } from '../../../services/operations/abuse-reports.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, page, Redirect } from '../../page.js'
import { adminUserPath } from './user-fields.js'

const AT = '/admin/abuse_reports'
const PER_PAGE = 20

export const abuseReportsPage = page({
  at: AT,
  access: adminPage,
  input: z.object({ page: paging.page }),
  async show({ ctx, input, view }) {
    const { items, total } = await listReports(ctx, { page: input.page, per_page: PER_PAGE })
    const { prefix } = view.links
    return {
      title: t('Abuse reports'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Abuse reports')}>
          <Rows empty={t('There are no reports.')}>
            {items.map(({ report, reporter, user }) => (
              <Row
                key={report.id}
                actions={
                  <ActionButton
                    view={view}
                    action={`${AT}/${report.id}`}
                    method="DELETE"
                    label={t('Close')}
                    what={t('the report about {username}', { username: user.username })}
                  />
                }
              >
                <span>
                  <a href={prefix + adminUserPath(user.username)}>
                    <strong>{user.name}</strong> <span class="dim">@{user.username}</span>
                  </a>{' '}
                  {user.state !== 'active' && (
                    <Badge kind="danger">
                      {user.state === 'deactivated' ? t('deactivated') : user.state === 'banned' ? t('banned') : t('blocked')}
                    </Badge>
                  )}
                </span>
                <p class="plain-text">{report.message}</p>
                <span class="dim">
                  <Phrase
                    text="By {link}, {time}; the account is here since {time2}"
                    link={<a href={prefix + adminUserPath(reporter.username)}>{reporter.name}</a>}
                    time={<Time at={report.created_at} />}
                    time2={<Time at={user.created_at} />}
                  />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </AdminLayout>
      ),
    }
  },
})

export const abuseReportClosing = form({
  at: `${AT}/:id`,
  method: 'DELETE',
  access: adminPage,
  input: z.object({ id: rowId() }),
  async submit({ ctx, input }) {
    await closeReport(ctx, input.id)
    return new Redirect(AT, { notice: t('Report closed.') })
  },
})
