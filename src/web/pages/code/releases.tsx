import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../../access/rules.js'
import * as documented from '../../../http/documented.js'
import { date, list, opt, orDefault, paging, rowId, str } from '../../../http/params.js'
import { tagInAddress, tagOfAddress } from '../../../rules/path.js'
import {
  createLink,
  createRelease,
  deleteLink,
  deleteRelease,
  getRelease,
  listReleases,
  type ReleaseLinkRecord,
  type ReleaseRecord,
  updateRelease,
} from '../../../services/content/releases.js'
import { availableArchives } from '../../../services/repository/archive.js'
import { Editor, EditorForm } from '../../components/editor/editor.js'
import { ArchiveLinks, shortId } from '../../components/files/code.js'
import { ActionButton, Field, FormFaults, FormTag, Submit } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { Prose } from '../../components/markup.js'
import { PersonLink } from '../../components/people/person-link.js'
import { renderText } from '../../components/render-text.js'
import { Time } from '../../components/time.js'
import { type Fields, fieldsOf } from '../../fields.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl, projectLinks } from '../../links.js'
import { form, type PageView, page, Redirect } from '../../page.js'

const PER_PAGE = 10
/** Rows for assets in the form of a new release; more are added afterwards. */
const NEW_ASSETS = [0, 1, 2] as const

const read = onProject('download_code')
const write = onProjectSignedIn('manage_release')
const tagName = str().transform(tagOfAddress)
const within = (subject: ProjectSubject) => `${homeOfProject(subject)}/-/releases`
const addressOf = (subject: ProjectSubject, tag: string) => `${within(subject)}/${encodeURIComponent(tagInAddress(tag))}`

/** Where an asset is: at its permanent address, if it has one (RL-7). */
const assetAddress = (view: PageView, subject: ProjectSubject, tag: string, { url, filepath }: ReleaseLinkRecord) =>
  filepath === null ? url : `${view.links.prefix}${within(subject)}/${encodeURIComponent(tag)}/downloads${inUrl(filepath)}`

interface BoxProps {
  view: PageView
  subject: ProjectSubject
  record: ReleaseRecord
  notes: string
  formats: ReturnType<typeof availableArchives>
  alone?: boolean
}

const Release = ({ view, subject, record: { release, author, links: assets, commit, milestones }, notes, formats, alone = false }: BoxProps) => {
  const { tag } = release
  const links = projectLinks(view, fullPathOf(subject.project))
  const name = release.name ?? tag
  return (
    <section class="box release">
      <div class="head">
        <span class="grow">
          {alone ? <h1>{name}</h1> : <h2>{<a href={`${view.links.prefix}${addressOf(subject, tag)}`}>{name}</a>}</h2>}{' '}
          {release.released_at > view.now && <Badge kind="waiting">{t('upcoming')}</Badge>}
        </span>
        {subject.can('manage_release') && (
          <a class="button" href={`${view.links.prefix}${addressOf(subject, tag)}/edit`} aria-label={t('Edit release {name}', { name })}>
            {t('Edit')}
          </a>
        )}
      </div>
      <p class="note dim">
        <a href={links.tag(tag)}>{tag}</a>
        {commit && (
          <>
            {' · '}
            <a href={links.commit(commit.oid)}>
              <code>{shortId(commit.oid)}</code>
            </a>
          </>
        )}
        {' · '}
        <Phrase text="{time} by {personLink}" time={<Time at={release.released_at} />} personLink={<PersonLink view={view} user={author} />} />
        {milestones.length > 0 && ` · ${milestones.map(({ milestone }) => milestone.title).join(', ')}`}
      </p>
      {notes && <Prose html={notes} />}
      <div class="note">
        {alone ? <h2>{t('Assets')}</h2> : <h3>{t('Assets')}</h3>}
        <ul class="assets">
          {assets.map((asset) => (
            <li key={asset.id}>
              <a href={assetAddress(view, subject, tag, asset)} rel="nofollow noopener">
                {asset.name}
              </a>{' '}
              {asset.link_type !== 'other' && <span class="dim">({asset.link_type})</span>}
            </li>
          ))}
          {commit && (
            <li>
              <Phrase
                text="Source code: {archiveLinks}"
                archiveLinks={<ArchiveLinks links={links} project={subject.project} revision={tag} formats={formats} />}
              />
            </li>
          )}
        </ul>
      </div>
    </section>
  )
}

export const releasesPage = page({
  at: 'P/-/releases',
  access: read,
  input: z.object({ page: paging.page }),
  async show({ ctx, caller, subject, input, view }) {
    const filter = { order_by: 'released_at', sort: 'desc', page: input.page, per_page: PER_PAGE } as const
    const { items, total } = await listReleases(ctx, subject, filter)
    const notes = await Promise.all(items.map(({ release }) => renderText(ctx, caller, subject, release.description)))
    const formats = availableArchives()
    return {
      title: `${t('Releases')} · ${fullPathOf(subject.project)}`,
      feed: { title: t('Releases of {fullPath}', { fullPath: fullPathOf(subject.project) }), at: `${within(subject)}.atom` },
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="releases"
          heading={t('Releases')}
          tools={
            subject.can('manage_release') && (
              <a class="button primary" href={`${view.links.prefix}${within(subject)}/new`}>
                {t('New release')}
              </a>
            )
          }
        >
          {items.length === 0 && <p class="empty">{t('There are no releases yet.')}</p>}
          {items.map((record, i) => (
            <Release key={record.release.id} view={view} subject={subject} record={record} notes={notes[i] ?? ''} formats={formats} />
          ))}
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const releasePage = page({
  at: 'P/-/releases/:tag_name',
  access: read,
  input: z.object({ tag_name: tagName }),
  async show({ ctx, caller, subject, input, view }) {
    const record = await getRelease(ctx, subject, input.tag_name)
    const { release } = record
    const notes = await renderText(ctx, caller, subject, release.description)
    return {
      title: `${release.name ?? release.tag} · ${fullPathOf(subject.project)}`,
      card: { text: release.description },
      body: (
        <ProjectLayout view={view} subject={subject} tab="releases">
          <Release view={view} subject={subject} record={record} notes={notes} formats={availableArchives()} alone />
        </ProjectLayout>
      ),
    }
  },
})

const dayOf = (moment: Date | undefined) => moment?.toISOString().slice(0, 10)

/** What can be changed of a release. */
const ReleaseFields = ({
  fields: f,
  record,
  project,
}: {
  fields: Fields<z.infer<typeof attributes>>
  record: ReleaseRecord | null
  project: ProjectSubject
}) => {
  return (
    <>
      <Field {...f.name} label={t('Title')} value={record?.release.name} hint={t('The tag, if it is empty.')} />
      <Editor {...f.description} label={t('Notes')} value={record?.release.description} rows={12} hint={t('In Markdown.')} project={project} />
      <div class="columns">
        <Field {...f.released_at} label={t('Date')} value={dayOf(record?.release.released_at)} />
        <Field
          {...f.milestones}
          label={t('Milestones')}
          value={record?.milestones.map(({ milestone }) => milestone.title).join(', ')}
          hint={t('Titles, separated by commas.')}
        />
      </div>
    </>
  )
}

const attributes = z.object({
  name: opt(str()),
  description: opt(str()),
  released_at: opt(date()),
  milestones: opt(str()),
})

const titlesIn = (text: string | undefined) => text?.split(',').flatMap((title) => title.trim() || [])
/** The start of a day, but the known moment if it is on that day. */
const momentOn = (day: string | undefined, known?: Date) => (day === undefined || day === dayOf(known) ? known : new Date(`${day}T00:00:00Z`))

const changedRelease = z.object({ release: attributes })
const asset = { name: orDefault(documented.filled(), ''), url: orDefault(documented.filled(), ''), filepath: opt(str()) }
const unnamed = z.object({ ...asset, name: orDefault(str(), ''), url: orDefault(str(), '') })

const newRelease = z.object({
  release: z.object({ tag_name: orDefault(documented.filled(), ''), ref: opt(str()), ...attributes.shape, links: opt(list(unnamed)) }),
})

export const newReleasePage = page({
  at: 'P/-/releases/new',
  access: write,
  input: z.object({ tag_name: opt(str()) }),
  async show({ subject, input, view }) {
    const f = fieldsOf(view, newRelease).release
    return {
      title: `${t('New release')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="releases">
          <h1>{t('New release')}</h1>
          <EditorForm view={view} action={within(subject)} once>
            <FormFaults view={view} />
            <div class="columns">
              <Field {...f.tag_name} label={t('Tag')} value={input.tag_name} hint={t('It is made if it does not exist.')} />
              <Field {...f.ref} label={t('Made from')} value={subject.project.default_branch} hint={t('A branch or a commit, for a new tag.')} />
            </div>
            <ReleaseFields fields={f} record={null} project={subject} />
            <h2>{t('Assets')}</h2>
            {NEW_ASSETS.map((i) => (
              <div class="columns" key={i}>
                <Field {...f.links(i).name} label={t('Name of asset {i}', { i: i + 1 })} />
                <Field {...f.links(i).url} label={t('URL of asset {i}', { i: i + 1 })} type="url" />
              </div>
            ))}
            <Submit label={t('Create release')} />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const newReleaseForm = form({
  at: 'P/-/releases',
  files: true,
  access: write,
  input: newRelease,
  on: newReleasePage,
  async submit({ ctx, caller, subject, input: { release } }) {
    const { released_at, milestones, links = [], tag_name, ...given } = release
    const made = await createRelease(ctx, subject, caller, {
      ...given,
      tag_name: tag_name.trim(),
      released_at: momentOn(released_at),
      milestones: titlesIn(milestones),
      links: links.filter(({ name, url }) => name !== '' || url !== ''),
    })
    return new Redirect(addressOf(subject, made.release.tag), { notice: t('Release published.') })
  },
})

const newAsset = z.object({ link: z.object(asset) })

export const editReleasePage = page({
  at: 'P/-/releases/:tag_name/edit',
  access: write,
  input: z.object({ tag_name: tagName }),
  async show({ ctx, subject, input, view }) {
    const record = await getRelease(ctx, subject, input.tag_name)
    const { tag } = record.release
    const action = addressOf(subject, tag)
    const ofAsset = view.submitted?.values['link'] !== undefined
    const fresh = { ...view, submitted: null }
    const f = fieldsOf(ofAsset ? view : fresh, newAsset).link
    return {
      title: `${t('Edit {tag}', { tag })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="releases">
          <h1>
            <Phrase text="Edit release {tag}" tag={tag} />
          </h1>
          <EditorForm view={view} action={action} method="PUT">
            {!ofAsset && <FormFaults view={view} />}
            <ReleaseFields fields={fieldsOf(ofAsset ? fresh : view, changedRelease).release} record={record} project={subject} />
            <Submit label={t('Save changes')} />
          </EditorForm>
          <h2>{t('Assets')}</h2>
          <Rows empty={t('This release has no assets beside its sources.')}>
            {record.links.map((link) => (
              <Row
                key={link.id}
                actions={
                  <ActionButton
                    view={view}
                    action={`${action}/links/${link.id}`}
                    method="DELETE"
                    label={t('Remove')}
                    what={link.name}
                    class="danger"
                  />
                }
              >
                <strong>{link.name}</strong>
                <span class="dim">{link.url}</span>
              </Row>
            ))}
          </Rows>
          <FormTag view={view} action={`${action}/links`}>
            {ofAsset && <FormFaults view={view} />}
            <div class="columns">
              <Field {...f.name} label={t('Name')} />
              <Field {...f.url} label={t('URL')} type="url" />
              <Field {...f.filepath} label={t('Permanent path')} hint={t('Such as /app.zip: an address here that leads to the URL.')} />
            </div>
            <Submit label={t('Add asset')} class="" />
          </FormTag>
          <h2>{t('Delete this release')}</h2>
          <p>{t('The tag stays.')}</p>
          <ActionButton view={view} action={action} method="DELETE" label={t('Delete release')} class="danger" />
        </ProjectLayout>
      ),
    }
  },
})

export const editReleaseForm = form({
  at: 'P/-/releases/:tag_name',
  method: 'PUT',
  files: true,
  access: write,
  input: changedRelease.extend({ tag_name: tagName }),
  on: editReleasePage,
  async submit({ ctx, subject, input: { tag_name, release } }) {
    const { released_at, milestones, ...given } = release
    const known = await getRelease(ctx, subject, tag_name)
    await updateRelease(ctx, subject, tag_name, {
      ...given,
      released_at: momentOn(released_at, known.release.released_at),
      milestones: titlesIn(milestones),
    })
    return new Redirect(addressOf(subject, tag_name), { notice: t('Release updated.') })
  },
})

export const releaseRemoval = form({
  at: 'P/-/releases/:tag_name',
  method: 'DELETE',
  access: write,
  input: z.object({ tag_name: tagName }),
  on: editReleasePage,
  async submit({ ctx, subject, input }) {
    await deleteRelease(ctx, subject, input.tag_name)
    return new Redirect(within(subject), { notice: t('The release {tagName} is deleted; its tag stays.', { tagName: input.tag_name }) })
  },
})

export const assetForm = form({
  at: 'P/-/releases/:tag_name/links',
  access: write,
  input: newAsset.extend({ tag_name: tagName }),
  on: editReleasePage,
  async submit({ ctx, subject, input: { tag_name, link } }) {
    await createLink(ctx, subject, tag_name, link)
    return new Redirect(`${addressOf(subject, tag_name)}/edit`, { notice: t('{name} is added.', { name: link.name }) })
  },
})

export const assetRemoval = form({
  at: 'P/-/releases/:tag_name/links/:link_id',
  method: 'DELETE',
  access: write,
  input: z.object({ tag_name: tagName, link_id: rowId() }),
  on: editReleasePage,
  async submit({ ctx, subject, input }) {
    const { name } = await deleteLink(ctx, subject, input.tag_name, input.link_id)
    return new Redirect(`${addressOf(subject, input.tag_name)}/edit`, { notice: t('{name} is removed.', { name }) })
  },
})
