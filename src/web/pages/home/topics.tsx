import { z } from 'zod'
import { anyone } from '../../../access/rules.js'
import { topicAvatar } from '../../../entities/projects/topic.js'
import { opt, paging, searchText, str } from '../../../http/params.js'
import { listTopics, type Topic } from '../../../services/projects/topics.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { DashboardHeading } from '../../components/projects/dashboard.js'
import { SearchForm } from '../../components/search.js'
import { plural, t } from '../../language/language.js'
import { type PageView, page, Redirect } from '../../page.js'

const AT = '/explore/projects/topics'
const PER_PAGE = 50

const Picture = ({ view, topic }: { view: PageView; topic: Topic }) => {
  const src = topicAvatar(topic, view.links.prefix)
  return src && <img class="avatar" src={src} alt="" width="24" height="24" loading="lazy" />
}

/** What a topic is, above its projects. */
export const TopicHead = ({ view, topic }: { view: PageView; topic: Topic }) => (
  <>
    <h2>
      <Picture view={view} topic={topic} /> {topic.title ?? topic.name}
    </h2>
    {topic.description && <p class="wrap">{topic.description}</p>}
  </>
)

/** The topics that the reader may see, those of most projects first (TP-5). */
export const topicsPage = page({
  at: AT,
  access: anyone,
  input: z.object({ search: opt(searchText()), page: paging.page }),
  async show({ ctx, caller, input: { search, page: number }, view }) {
    const { items, total } = await listTopics(ctx, caller, { search, page: number, per_page: PER_PAGE })
    return {
      title: t('Topics'),
      body: (
        <>
          <DashboardHeading view={view} title={t('Topics')} />
          <SearchForm action={view.links.prefix + AT} label={t('Name')} name="search" value={search} />
          <Rows empty={search ? t('There is no such topic.') : t('There are no topics: projects get them in their settings.')}>
            {items.map((topic) => (
              <Row key={topic.id} before={<Picture view={view} topic={topic} />}>
                <span class="wrap">
                  <a href={`${view.links.prefix}/explore?${new URLSearchParams({ topic: topic.name })}`}>
                    <strong>{topic.title ?? topic.name}</strong>
                  </a>{' '}
                  <span class="dim">{plural(topic.projects_count, '{count} project', '{count} projects')}</span>
                </span>
                {topic.description && <span class="dim wrap">{topic.description}</span>}
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={number} perPage={PER_PAGE} total={total} />
        </>
      ),
    }
  },
})

/** The address of one of them that the original has. */
export const topicAddress = page({
  at: `${AT}/:name`,
  access: anyone,
  input: z.object({ name: str() }),
  show: async ({ input }) => new Redirect(`/explore?${new URLSearchParams({ topic: input.name })}`),
})
