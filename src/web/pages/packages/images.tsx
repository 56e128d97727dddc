import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn } from '../../../access/rules.js'
import { containerLocation } from '../../../entities/projects/container.js'
import { paging, rowId, str } from '../../../http/params.js'
import { deleteRepository, deleteTags, getRepository, listRepositories, listTags } from '../../../services/registry/repositories.js'
import { Command } from '../../components/command.js'
import { sizeText } from '../../components/facts.js'
import { ActionButton } from '../../components/form.js'
import { Pager, Row, Rows } from '../../components/list.js'
import { Time } from '../../components/time.js'
import { plural, t } from '../../language/language.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, inUrl, projectLinks } from '../../links.js'
import { form, page, Redirect } from '../../page.js'

const PER_PAGE = 30
const repository_id = rowId()

/** The repositories of images of a project (OCI-60). */
export const imagesPage = page({
  at: 'P/-/container_registry',
  access: onProject('read_image'),
  input: z.object({ page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const { items, total } = await listRepositories(ctx, subject, { page: input.page, per_page: PER_PAGE })
    const fullPath = fullPathOf(subject.project)
    const links = projectLinks(view, fullPath)
    const location = containerLocation(view, { fullPath, name: '' })
    return {
      title: `${t('Container registry')} · ${fullPath}`,
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="packages"
          heading={t('Container registry')}
          tools={
            subject.can('read_package') && (
              <a class="button" href={links.page('packages')}>
                {t('Packages')}
              </a>
            )
          }
        >
          {subject.can('create_image') && (
            <section class="box">
              <div class="head">
                <strong>{t('Push an image')}</strong>
              </div>
              <div class="note">
                <Command id="login" text={`docker login ${view.links.registry}`} />
                <Command id="build" text={`docker build -t ${location} .`} />
                <Command id="push" text={`docker push ${location}`} />
              </div>
            </section>
          )}
          <Rows empty={t('There are no images yet.')}>
            {items.map((repository) => (
              <Row
                key={repository.id}
                actions={
                  subject.can('destroy_image_repository') && (
                    <ActionButton
                      view={view}
                      action={`${homeOfProject(subject)}/-/container_registry/${repository.id}`}
                      method="DELETE"
                      label={t('Delete')}
                      what={containerLocation(view, repository)}
                      class="danger"
                    />
                  )
                }
              >
                <span class="wrap">
                  <a href={links.page(`container_registry/${repository.id}`)}>
                    <strong>{containerLocation(view, repository)}</strong>
                  </a>
                </span>
                <span class="dim">
                  {plural(repository.tags_count, '1 tag', '{count} tags')} · <Time at={repository.created_at} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

/** The tags of one repository. */
export const imagePage = page({
  at: 'P/-/container_registry/:repository_id',
  access: onProject('read_image'),
  input: z.object({ repository_id, page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const repository = await getRepository(ctx, input.repository_id, subject)
    const { items, total } = await listTags(ctx, repository.id, { page: input.page, per_page: PER_PAGE })
    const location = containerLocation(view, repository)
    return {
      title: `${location} · ${t('Container registry')}`,
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="packages"
          heading={location}
          tools={
            <a class="button" href={projectLinks(view, fullPathOf(subject.project)).page('container_registry')}>
              {t('Container registry')}
            </a>
          }
        >
          {items[0] && <Command id="pull" text={`docker pull ${location}:${items[0].name}`} />}
          <Rows empty={t('It has no tags.')}>
            {items.map(({ name, updated_at, manifest }) => (
              <Row
                key={name}
                actions={
                  subject.can('destroy_image') && (
                    <ActionButton
                      view={view}
                      action={`${homeOfProject(subject)}/-/container_registry/${repository.id}/tags/${inUrl(name)}`}
                      method="DELETE"
                      label={t('Delete')}
                      what={name}
                      class="danger"
                    />
                  )
                }
              >
                <strong>{name}</strong>
                <span class="dim wrap">
                  {sizeText(manifest.total_size)} · <code>sha256:{manifest.oid.slice(0, 12)}</code> · <Time at={updated_at} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
        </ProjectLayout>
      ),
    }
  },
})

export const imageRemoval = form({
  at: 'P/-/container_registry/:repository_id',
  method: 'DELETE',
  access: onProjectSignedIn('destroy_image_repository'),
  input: z.object({ repository_id }),
  async submit({ ctx, subject, input }) {
    await deleteRepository(ctx, subject, input.repository_id)
    return new Redirect(`${homeOfProject(subject)}/-/container_registry`, { notice: t('The images are deleted.') })
  },
})

export const imageTagRemoval = form({
  at: 'P/-/container_registry/:repository_id/tags/:tag_name',
  method: 'DELETE',
  access: onProjectSignedIn('destroy_image'),
  input: z.object({ repository_id, tag_name: str() }),
  async submit({ ctx, subject, input }) {
    await deleteTags(ctx, subject, input.repository_id, [input.tag_name])
    return new Redirect(`${homeOfProject(subject)}/-/container_registry/${input.repository_id}`, {
      notice: t('The tag {tagName} is deleted.', { tagName: input.tag_name }),
    })
  },
})
