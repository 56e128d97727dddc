import { z } from 'zod'
import { adminPage } from '../../../access/rules.js'
import { notFound } from '../../../failures.js'
import { rowId } from '../../../http/params.js'
import { loadJobQueue, MAX_FAILED, removeJob, retryJobs } from '../../../services/operations/job-queue.js'
import { numberText } from '../../components/facts.js'
import { ActionButton } from '../../components/form.js'
import { Row, Rows, Table } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { form, page, Redirect } from '../../page.js'

const AT = '/admin/jobs'
const MAX_TEXT = 500

const short = (text: string) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)

export const jobsPage = page({
  at: AT,
  access: adminPage,
  async show({ ctx, view }) {
    const { kinds, failed } = await loadJobQueue(ctx)
    const all = kinds.reduce((sum, kind) => sum + kind.failed, 0)
    return {
      title: t('Jobs'),
      body: (
        <AdminLayout view={view} at={AT} title={t('Jobs')}>
          <h2>{t('Failed')}</h2>
          <p>{t('These have failed for good, and run again only if you say so.')}</p>
          <Rows empty={t('No job has failed.')}>
            {failed.map(({ id, kind, payload, attempts, failed_at, error }) => (
              <Row
                key={id}
                actions={
                  <>
                    <ActionButton view={view} action={`${AT}/${id}/retry`} label={t('Try again')} what={t('job {id}', { id })} />
                    <ActionButton
                      view={view}
                      action={`${AT}/${id}`}
                      method="DELETE"
                      label={t('Remove')}
                      what={t('job {id}', { id })}
                      class="danger"
                    />
                  </>
                }
              >
                <strong>
                  {kind} <span class="dim">#{id}</span>
                </strong>
                <span class="fault">{short(error ?? t('No reason is known'))}</span>
                <span class="dim">
                  <code>{short(JSON.stringify(payload))}</code>
                </span>
                <span class="dim">
                  <Time at={new Date(failed_at)} />, {plural(attempts, 'after {count} attempt', 'after {count} attempts')}
                </span>
              </Row>
            ))}
          </Rows>
          {all > failed.length && (
            <p class="dim">
              <Phrase text="Of {number} the newest {maxfailed} are shown." number={numberText(all)} maxfailed={MAX_FAILED} />
            </p>
          )}
          {all > 1 && <ActionButton view={view} action={`${AT}/retry`} label={t('Try all again')} />}
          <h2>{t('Queue')}</h2>
          {kinds.length === 0 ? (
            <p class="empty">{t('There is nothing to do.')}</p>
          ) : (
            <Table columns={[t('Kind'), t('Waiting'), t('Later'), t('Running'), t('Failed'), t('Oldest waits')]}>
              {kinds.map(({ kind, waiting, later, running, failed: set, delay }) => (
                <tr key={kind}>
                  <th scope="row">{kind}</th>
                  <td>{numberText(waiting)}</td>
                  <td>{numberText(later)}</td>
                  <td>{numberText(running)}</td>
                  <td>{numberText(set)}</td>
                  <td>{waiting > 0 ? `${Math.round(delay)} s` : ''}</td>
                </tr>
              ))}
            </Table>
          )}
        </AdminLayout>
      ),
    }
  },
})

const byId = z.object({ id: rowId() })

export const jobRetry = form({
  at: `${AT}/:id/retry`,
  access: adminPage,
  input: byId,
  async submit({ ctx, input }) {
    if ((await retryJobs(ctx, input.id)) === 0) throw notFound()
    return new Redirect(AT, { notice: t('Job {id} is tried again.', { id: input.id }) })
  },
})

export const jobsRetry = form({
  at: `${AT}/retry`,
  access: adminPage,
  async submit({ ctx }) {
    const retried = await retryJobs(ctx, null)
    return new Redirect(AT, { notice: plural(retried, 'One job is tried again.', '{count} jobs are tried again.', { count: numberText(retried) }) })
  },
})

export const jobRemoval = form({
  at: `${AT}/:id`,
  method: 'DELETE',
  access: adminPage,
  input: byId,
  async submit({ ctx, input }) {
    if (!(await removeJob(ctx, input.id))) throw notFound()
    return new Redirect(AT, { notice: t('Job {id} is removed.', { id: input.id }) })
  },
})
