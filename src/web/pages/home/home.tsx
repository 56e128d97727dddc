import { z } from 'zod'
import { anyone, signedIn } from '../../../access/rules.js'
import { opt, paging, searchText } from '../../../http/params.js'
import { listProjects } from '../../../services/projects/list.js'
import { loadProjects } from '../../../services/projects/load.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { page, Redirect } from '../../page.js'

const PER_PAGE = 20

/** Leads on: to the dashboard, or for a visitor to the home page of the settings or to sign-in (AS-40). */
export const homePage = page({
  at: '/',
  access: anyone,
  input: z.object({}),
  show: async ({ view }) => new Redirect(view.viewer ? '/dashboard' : (view.settings.home_page_url ?? '/users/sign_in')),
})

export const dashboardPage = page({
  at: '/dashboard',
  access: signedIn,
  input: z.object({ page: paging.page, name: opt(searchText()) }),
  async show({ ctx, caller, input, view }) {
    const filter = { membership: true, search: input.name, order_by: 'last_activity_at', sort: 'desc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listProjects(ctx, caller, filter)
    const projects = await loadProjects(
      ctx,
      caller.user,
      items.map(({ id }) => id),
    )
    return {
      title: 'Projects',
      body: (
        <>
          <h1>Your projects</h1>
          <search>
            <form method="get" action={`${view.links.prefix}/dashboard`} class="search">
              <input name="name" type="search" value={input.name ?? ''} placeholder="Find a project" aria-label="Name" />
              <button type="submit">Search</button>
            </form>
          </search>
          <Rows empty={input.name ? 'No project of yours has this in its name.' : <FirstSteps />}>
            {projects.map(({ project, namespace }) => (
              <Row
                key={project.id}
                actions={
                  <span class="dim">
                    <Time at={project.last_activity_at} />
                  </span>
                }
              >
                <span>
                  <span class="dim">{namespace.full_path} / </span>
                  <strong>{project.name}</strong>{' '}
                  <Badge>{project.visibility === 20 ? 'Public' : project.visibility === 10 ? 'Internal' : 'Private'}</Badge>
                </span>
                {project.description && <span class="dim">{project.description}</span>}
                <code class="dim">{view.links.http(`${namespace.full_path}/${project.path}`)}</code>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </>
      ),
    }
  },
})

const FirstSteps = () => <>You are in no project yet. Push to a new address below your name, and the project is made.</>
