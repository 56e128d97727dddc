import { adminPage } from '../../../access/rules.js'
import { type LastCheck, readChecks } from '../../../services/core/last-checks.js'
import { countQueue } from '../../../services/operations/job-queue.js'
import { loadOverview } from '../../../services/operations/overview.js'
import { Facts, numberText, sizeText } from '../../components/facts.js'
import { Badge, Row, Rows, Table } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { AdminLayout } from '../../layout/admin.js'
import { page } from '../../page.js'

const WORKING = 'success'

/** What was found last, and when. */
const Checked = ({ name, check, never }: { name: string; check: LastCheck | undefined; never: string }) => (
  <Row>
    <span>
      <strong>{name}</strong> {check && <Badge kind={check.good ? WORKING : 'danger'}>{check.good ? 'good' : 'look at it'}</Badge>}
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
      title: 'Administration',
      body: (
        <AdminLayout view={view} at="/admin" title="Overview">
          {users.waiting > 0 && (
            <p class="flash waiting">
              <a href={`${prefix}/admin/users?filter=waiting`}>
                {users.waiting === 1 ? 'One account waits' : `${numberText(users.waiting)} accounts wait`} for approval
              </a>
            </p>
          )}
          {total('failed') > 0 && (
            <p class="flash alert">
              <a href={`${prefix}/admin/jobs`}>{total('failed') === 1 ? 'One job has' : `${numberText(total('failed'))} jobs have`} failed</a>
            </p>
          )}
          {found.damaged > 0 && (
            <p class="flash alert">
              Checks have found damage in {found.damaged === 1 ? 'one repository' : `${numberText(found.damaged)} repositories`}:{' '}
              <code>roost doctor</code> says more.
            </p>
          )}
          <div class="panels">
            <section class="box">
              <h2 class="head">What is here</h2>
              <Facts
                facts={[
                  ['Users', to('/admin/users', users.all)],
                  ['Active', to('/admin/users?filter=active', users.active)],
                  ['Administrators', to('/admin/users?filter=admins', users.admins)],
                  ['Groups', to('/admin/groups', found.groups)],
                  ['Projects', to('/admin/projects', found.projects)],
                  ['Deleted, can be restored', to('/admin/projects?filter=deleted', found.deleted)],
                ]}
              />
            </section>
            <section class="box">
              <h2 class="head">Health</h2>
              <Facts
                facts={[
                  ['Database', <Badge kind={WORKING}>works</Badge>],
                  ['Git', <Badge kind={gitWorks ? WORKING : 'danger'}>{gitWorks ? 'works' : 'does not answer'}</Badge>],
                  ['Mail', ctx.mail ? 'is sent' : 'is off'],
                  ['Processes', numberText(found.processes)],
                  ['Jobs', to('/admin/jobs', total('waiting') + total('running') + total('later'))],
                  ['Oldest job waits', `${Math.round(delay)} s`],
                ]}
              />
            </section>
            <section class="box">
              <h2 class="head">Versions</h2>
              <Facts
                facts={[
                  ['API', ctx.config.version],
                  ['Revision', ctx.config.revision],
                  ['Node.js', process.version.slice(1)],
                  ['Postgres', database.version],
                  ['Database', sizeText(database.bytes)],
                ]}
              />
            </section>
          </div>
          <h2>Backup and doctor</h2>
          <Rows empty="">
            <Checked name="Last backup" check={checks.get('backup')} never="None is known: roost backup makes one." />
            <Checked name="Doctor" check={checks.get('doctor')} never="It has not run: roost doctor compares rows with repositories." />
          </Rows>
          <h2>Storages</h2>
          <Table columns={['Storage', 'Projects', 'Repositories', 'Free on its disk']}>
            {found.storages.map(({ name, path, projects, bytes, disk }) => (
              <tr key={name}>
                <th scope="row" title={path}>
                  {name}
                </th>
                <td>{numberText(projects)}</td>
                <td>{sizeText(bytes)}</td>
                <td>{disk ? `${sizeText(disk.free)} of ${sizeText(disk.total)}` : <Badge kind="danger">does not answer</Badge>}</td>
              </tr>
            ))}
          </Table>
          <p class="dim">Numbers and sizes of projects are at most a minute old.</p>
        </AdminLayout>
      ),
    }
  },
})
