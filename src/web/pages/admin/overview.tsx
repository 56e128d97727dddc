import { adminPage } from '../../../access/rules.js'
import { type LastCheck, readChecks } from '../../../services/core/last-checks.js'
import { countQueue } from '../../../services/operations/job-queue.js'
import { loadOverview } from '../../../services/operations/overview.js'
import { Facts, numberText, sizeText } from '../../components/facts.js'
import { Badge, Row, Rows, Table } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { plural, t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { AdminLayout } from '../../layout/admin.js'
import { page } from '../../page.js'

const WORKING = 'success'

/** What was found last, and when. */
const Checked = ({ name, check, never }: { name: string; check: LastCheck | undefined; never: string }) => (
  <Row>
    <span>
      <strong>{name}</strong> {check && <Badge kind={check.good ? WORKING : 'danger'}>{check.good ? t('good') : t('look at it')}</Badge>}
    </span>
    <span class="dim">
      {check ? (
        <>
          <Time at={check.checked_at} />: {check.message}
        </>
      ) : (
        never
      )}
    </span>
  </Row>
)

export const overviewPage = page({
  at: '/admin',
  robots: 'disallow',
  access: adminPage,
  async show({ ctx, view }) {
    const git = ctx.git.ping().then(
      () => true,
      () => false,
    )
    const [found, queue, gitWorks, checks] = await Promise.all([loadOverview(ctx), countQueue(ctx), git, readChecks(ctx)])
    const { prefix } = view.links
    const { users, database } = found
    const total = (state: 'waiting' | 'later' | 'running' | 'failed') => queue.reduce((sum, kind) => sum + kind[state], 0)
    const delay = Math.max(0, ...queue.map((kind) => kind.delay))
    const to = (path: string, count: number) => <a href={`${prefix}${path}`}>{numberText(count)}</a>
    return {
      title: t('Administration'),
      body: (
        <AdminLayout view={view} at="/admin" title={t('Overview')}>
          {users.waiting > 0 && (
            <p class="flash waiting">
              <a href={`${prefix}/admin/users?filter=waiting`}>
                {plural(users.waiting, 'One account waits for approval', '{count} accounts wait for approval', { count: numberText(users.waiting) })}
              </a>
            </p>
          )}
          {total('failed') > 0 && (
            <p class="flash alert">
              <a href={`${prefix}/admin/jobs`}>
                {plural(total('failed'), 'One job has failed', '{count} jobs have failed', { count: numberText(total('failed')) })}
              </a>
            </p>
          )}
          {found.damaged > 0 && (
            <p class="flash alert">
              <Phrase
                text="Checks have found damage in {repositories}: {code} says more."
                repositories={plural(found.damaged, 'one repository', '{count} repositories', { count: numberText(found.damaged) })}
                code={<code>roost doctor</code>}
              />
            </p>
          )}
          <div class="panels">
            <section class="box">
              <h2 class="head">{t('What is here')}</h2>
              <Facts
                facts={[
                  [t('Users'), to('/admin/users', users.all)],
                  [t('Active'), to('/admin/users?filter=active', users.active)],
                  [t('Administrators'), to('/admin/users?filter=admins', users.admins)],
                  [t('Groups'), to('/admin/groups', found.groups)],
                  [t('Projects'), to('/admin/projects', found.projects)],
                  [t('Deleted, can be restored'), to('/admin/projects?filter=deleted', found.deleted)],
                ]}
              />
            </section>
            <section class="box">
              <h2 class="head">{t('Health')}</h2>
              <Facts
                facts={[
                  [t('Database'), <Badge kind={WORKING}>{t('works')}</Badge>],
                  [t('Git'), <Badge kind={gitWorks ? WORKING : 'danger'}>{gitWorks ? t('works') : t('does not answer')}</Badge>],
                  [t('Mail'), ctx.mail ? t('is sent') : t('is off')],
                  [t('Processes'), numberText(found.processes)],
                  [t('Jobs'), to('/admin/jobs', total('waiting') + total('running') + total('later'))],
                  [t('Oldest job waits'), `${Math.round(delay)} s`],
                ]}
              />
            </section>
            <section class="box">
              <h2 class="head">{t('Versions')}</h2>
              <Facts
                facts={[
                  ['API', ctx.config.version],
                  [t('Revision'), ctx.config.revision],
                  ['Node.js', process.version.slice(1)],
                  [t('Postgres'), database.version],
                  [t('Database'), sizeText(database.bytes)],
                ]}
              />
            </section>
          </div>
          <h2>{t('Backup and doctor')}</h2>
          <Rows empty="">
            <Checked name={t('Last backup')} check={checks.get('backup')} never={t('None is known: roost backup makes one.')} />
            <Checked name={t('Doctor')} check={checks.get('doctor')} never={t('It has not run: roost doctor compares rows with repositories.')} />
          </Rows>
          <h2>{t('Storages')}</h2>
          <Table columns={[t('Storage'), t('Projects'), t('Repositories'), t('Free on its disk')]}>
            {found.storages.map(({ name, path, projects, bytes, disk }) => (
              <tr key={name}>
                <th scope="row" title={path}>
                  {name}
                </th>
                <td>{numberText(projects)}</td>
                <td>{sizeText(bytes)}</td>
                <td>
                  {disk ? (
                    t('{size} of {size2}', { size: sizeText(disk.free), size2: sizeText(disk.total) })
                  ) : (
                    <Badge kind="danger">{t('does not answer')}</Badge>
                  )}
                </td>
              </tr>
            ))}
          </Table>
          <p class="dim">{t('Numbers and sizes of projects are at most a minute old.')}</p>
        </AdminLayout>
      ),
    }
  },
})
