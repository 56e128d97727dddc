import { z } from 'zod'
import { fullPathOf, onGroup, onProject, type ProjectSubject } from '../../../access/rules.js'
import { oneOf, opt, paging, str } from '../../../http/params.js'
import { PACKAGE_TYPES } from '../../../rules/packages/types.js'
import { listGroupPackages, listPackages, type PackageRecord } from '../../../services/packages/packages.js'
import { Command } from '../../components/command.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { FORMATS } from '../../components/packages/formats.js'
import { PersonLink } from '../../components/people/person-link.js'
import { SearchForm } from '../../components/search.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { GroupLayout } from '../../layout/group.js'
import { ProjectLayout } from '../../layout/project.js'
import { groupLinks, projectLinks } from '../../links.js'
import { type PageView, page } from '../../page.js'
import { publishing } from './commands.js'

const PER_PAGE = 30
const input = z.object({ type: opt(oneOf(PACKAGE_TYPES)), search: opt(str()), page: paging.page })
type Input = z.infer<typeof input>

const filterOf = ({ type, search, page }: Input) => ({
  package_type: type,
  package_name: search,
  order_by: 'created_at' as const,
  sort: 'desc' as const,
  page,
  per_page: PER_PAGE,
})

const Kinds = ({ action, type, search }: Input & { action: string }) => (
  <nav class="group" aria-label={t('Format')}>
    {[undefined, ...PACKAGE_TYPES].map((each) => (
      <a
        key={each}
        class="button"
        href={`${action}?${new URLSearchParams({ ...(each && { type: each }), ...(search && { search }) })}`}
        {...(each === type && { 'aria-current': 'page' })}
      >
        {each ? FORMATS[each] : t('All')}
      </a>
    ))}
  </nav>
)

const Items = ({ view, items, empty, of }: { view: PageView; items: PackageRecord[]; empty: string; of: 'project' | 'group' }) => (
  <Rows empty={empty}>
    {items.map(({ id, name, version, type, tags, created_at, creator, project }) => {
      const links = projectLinks(view, project.fullPath)
      return (
        <Row key={id}>
          <span class="wrap">
            <a href={links.page(`packages/${id}`)}>
              <strong>{name}</strong>
            </a>{' '}
            {version} <Badge kind="outline">{FORMATS[type]}</Badge>{' '}
            {tags.map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </span>
          <span class="dim">
            {of === 'group' && (
              <>
                <a href={links.home}>{project.fullPath}</a> ·{' '}
              </>
            )}
            {creator && (
              <>
                <PersonLink view={view} user={creator} /> ·{' '}
              </>
            )}
            <Time at={created_at} />
          </span>
        </Row>
      )
    })}
  </Rows>
)

/** Says how packages are published, where there are none yet (PK-60). */
const FirstSteps = ({ view, subject }: { view: PageView; subject: ProjectSubject }) => (
  <>
    <p>
      <Phrase
        text="There are no packages yet. Publish one with an {link} of the scope {code} as {code2}:"
        link={<a href={`${view.links.prefix}/-/profile/personal_access_tokens`}>{t('access token')}</a>}
        code={<code>api</code>}
        code2={<code>$TOKEN</code>}
      />
    </p>
    {publishing(view.links, subject.project.id).map(([title, commands]) => (
      <section key={title}>
        <h2>{title}</h2>
        {commands.map((text, at) => (
          <Command key={text} id={`${title.replaceAll(' ', '-')}-${at}`} text={text} />
        ))}
      </section>
    ))}
  </>
)

export const packagesPage = page({
  at: 'P/-/packages',
  access: onProject('read_package'),
  input,
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listPackages(ctx, subject, filterOf(input))
    const action = projectLinks(view, fullPathOf(subject.project)).page('packages')
    const isEmpty = total === 0 && !input.type && !input.search
    return {
      title: `${t('Packages')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="packages"
          heading={t('Packages')}
          tools={
            <>
              {!isEmpty && <Kinds action={action} {...input} />}
              {subject.can('read_image') && (
                <a class="button" href={projectLinks(view, fullPathOf(subject.project)).page('container_registry')}>
                  {t('Container registry')}
                </a>
              )}
            </>
          }
        >
          {isEmpty && subject.can('create_package') ? (
            <FirstSteps view={view} subject={subject} />
          ) : (
            <>
              {!isEmpty && (
                <SearchForm action={action} label={t('Name')} name="search" value={input.search} hidden={input.type ? { type: input.type } : {}} />
              )}
              <Items view={view} items={items} of="project" empty={isEmpty ? t('There are no packages.') : t('There are no such packages.')} />
            </>
          )}
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const groupPackagesPage = page({
  at: 'G/-/packages',
  access: onGroup('read_group'),
  input,
  async show({ ctx, caller, subject, input, view }) {
    const { items, total } = await listGroupPackages(ctx, caller, subject, filterOf(input))
    const action = groupLinks(view, subject.group.full_path).page('packages')
    return {
      title: `${t('Packages')} · ${subject.group.full_path}`,
      body: (
        <GroupLayout view={view} subject={subject} tab="packages" heading={t('Packages')} tools={<Kinds action={action} {...input} />}>
          <SearchForm action={action} label={t('Name')} name="search" value={input.search} hidden={input.type ? { type: input.type } : {}} />
          <Items
            view={view}
            items={items}
            of="group"
            empty={input.type || input.search ? t('There are no such packages.') : t('No project of the group has packages.')}
          />
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </GroupLayout>
      ),
    }
  },
})
