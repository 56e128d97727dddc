import { z } from 'zod'
import { fullPathOf, onProject } from '../../../access/rules.js'
import { paging, str } from '../../../http/params.js'
import { listEventsOfProject } from '../../../services/activity/events.js'
import { titleOf } from '../../components/files/commit.js'
import { Pager } from '../../components/list.js'
import { Activity } from '../../components/people/activity.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject } from '../../links.js'
import { page } from '../../page.js'
import { RefSwitch } from './finders.js'
import { placeOf } from './revision.js'

const PER_PAGE = 30
/** People in a chart. */
const MAX_PEOPLE = 100
/** Commits in a graph. */
const MAX_GRAPH = 100

export const activityPage = page({
  at: 'P/activity',
  access: onProject('read_project'),
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const fullPath = fullPathOf(subject.project)
    const { items, total } = await listEventsOfProject(ctx, caller, subject, { sort: 'desc', page: input.page, per_page: PER_PAGE })
    return {
      title: `${t('Activity')} · ${fullPath}`,
      feed: { title: t('Activity of {fullPath}', { fullPath }), at: `${homeOfProject(subject)}.atom` },
      body: (
        <ProjectLayout view={view} subject={subject} tab="activity" heading={t('Activity')}>
          <Activity view={view} events={items} paths={new Map()} empty={t('Nothing has happened here yet.')} />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

/** Who wrote the commits of a revision. */
export const contributorsPage = page({
  at: 'P/-/graphs/*',
  robots: 'disallow',
  access: onProject('read_contributors'),
  input: z.object({ path: str() }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const people = [...(await place.repository.contributors(place.commit.oid))].sort((a, b) => b.commits - a.commits || (a.email < b.email ? -1 : 1))
    const most = people[0]?.commits ?? 1
    const shown = people.slice(0, MAX_PEOPLE)
    return {
      title: `${t('Contributors')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>{t('Contributors')}</h1>
          <div class="toolbar">
            <RefSwitch place={place} page="graphs" />
          </div>
          <div class="box">
            <table class="chart">
              <thead>
                <tr>
                  <th scope="col">{t('Author')}</th>
                  <th scope="col">{t('Commits')}</th>
                  <th scope="col">
                    <span class="hidden">{t('Share')}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {shown.map(({ name, email, commits }) => (
                  <tr key={email}>
                    <td>
                      <a href={`${place.links.commits(place.ref)}?${new URLSearchParams({ author: email })}`}>{name || email}</a>
                    </td>
                    <td class="count">{commits}</td>
                    <td>
                      <svg class="bar-chart" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                        <rect width={Math.max(0.5, (100 * commits) / most).toFixed(2)} height="10" />
                      </svg>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {people.length > shown.length && (
            <p class="dim">
              <Phrase text="and {count} more" count={people.length - shown.length} />
            </p>
          )}
        </ProjectLayout>
      ),
    }
  },
})

/** A line of the graph: the column of its commit, and the lines to the row below, from column to column. */
interface GraphRow {
  column: number
  lines: [number, number][]
}

/** Gives each commit a column: the first that waits for it, or a free one; each column then waits for a parent. */
export function graphOf(commits: readonly { oid: string; parents: readonly string[] }[]): GraphRow[] {
  let waiting: (string | null)[] = []
  return commits.map(({ oid, parents }) => {
    let column = waiting.indexOf(oid)
    if (column < 0) column = waiting.includes(null) ? waiting.indexOf(null) : waiting.length
    const next = waiting.map((each) => (each === oid ? null : each))
    next[column] = null
    const lines: [number, number][] = []
    for (const [i, each] of waiting.entries()) if (each !== null && each !== oid) lines.push([i, i])
    for (const [i, parent] of parents.entries()) {
      let to = next.indexOf(parent)
      if (to < 0) {
        to = i === 0 ? column : next.includes(null) ? next.indexOf(null) : next.length
        next[to] = parent
      }
      lines.push([column, to])
    }
    while (next.at(-1) === null) next.pop()
    waiting = next
    return { column, lines }
  })
}

const STEP = 14
const ROW = 28
/** Columns that are drawn; what is further to the right is left out. */
const MAX_COLUMNS = 24

/** The branches and merges of a revision's history. */
export const graphPage = page({
  at: 'P/-/network/*',
  robots: 'disallow',
  access: onProject('download_code'),
  input: z.object({ path: str() }),
  async show({ ctx, subject, input, view }) {
    const place = await placeOf(ctx, subject, view, input.path)
    const { commits, total } = await place.repository.log({ from: [place.commit.oid], skip: 0, limit: MAX_GRAPH })
    const rows = graphOf(commits)
    const columns = Math.min(MAX_COLUMNS, 1 + Math.max(0, ...rows.flatMap(({ column, lines }) => [column, ...lines.flat()])))
    const x = (column: number) => STEP * (column + 0.5)
    const isDrawn = (...all: number[]) => all.every((column) => column < MAX_COLUMNS)
    return {
      title: `${t('Graph')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="commits">
          <h1>{t('Graph')}</h1>
          <div class="toolbar">
            <RefSwitch place={place} page="network" />
          </div>
          <div class="graph">
            <svg width={columns * STEP} height={commits.length * ROW} aria-hidden="true">
              {rows.map(({ column, lines }, i) => {
                const y = ROW * (i + 0.5)
                return (
                  <g key={i}>
                    {lines
                      .filter(([from, to]) => isDrawn(from, to))
                      .map(([from, to]) => (
                        <path key={`${from}-${to}`} d={`M${x(from)} ${y}C${x(from)} ${y + ROW / 2} ${x(to)} ${y + ROW / 2} ${x(to)} ${y + ROW}`} />
                      ))}
                    {isDrawn(column) && <circle cx={x(column)} cy={y} r="4" />}
                  </g>
                )
              })}
            </svg>
            <ol>
              {commits.map((commit) => (
                <li key={commit.oid}>
                  <a href={place.links.commit(commit.oid)} class="title">
                    {titleOf(commit)}
                  </a>{' '}
                  <span class="dim">{commit.author.name}</span>
                </li>
              ))}
            </ol>
          </div>
          {total > commits.length && (
            <p class="dim">
              <Phrase
                text="The newest {maxgraph} of {total} commits. {link}"
                maxgraph={MAX_GRAPH}
                total={total}
                link={<a href={place.links.page(`network/${commits.at(-1)?.oid}`)}>{t('Older ones')}</a>}
              />
            </p>
          )}
        </ProjectLayout>
      ),
    }
  },
})
