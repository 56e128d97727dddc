import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn } from '../../../access/rules.js'
import { notFound } from '../../../failures.js'
import { Content } from '../../../http/content.js'
import { attachment } from '../../../http/disposition.js'
import { paging, rowId } from '../../../http/params.js'
import { deletePackage, deletePackageFile, getPackage, getPackageFile, listPackageFiles } from '../../../services/packages/packages.js'
import { Command } from '../../components/command.js'
import { Facts, sizeText } from '../../components/facts.js'
import { ActionButton } from '../../components/form.js'
import { Badge, Pager, Row, Rows } from '../../components/list.js'
import { FORMATS } from '../../components/packages/formats.js'
import { PersonLink } from '../../components/people/person-link.js'
import { Time } from '../../components/time.js'
import { t } from '../../language/language.js'
import { Phrase } from '../../language/phrase.js'
import { ProjectLayout } from '../../layout/project.js'
import { homeOfProject, projectLinks } from '../../links.js'
import { form, page, Redirect } from '../../page.js'
import { installing } from './commands.js'

const PER_PAGE = 50
const reads = onProject('read_package')
const deletes = onProjectSignedIn('destroy_package')
const package_id = rowId()
const text = (value: unknown) => (typeof value === 'string' ? value : null)

export const packagePage = page({
  at: 'P/-/packages/:package_id',
  access: reads,
  input: z.object({ package_id, page: paging.page }),
  async show({ ctx, subject, input, view }) {
    const found = await getPackage(ctx, subject, input.package_id)
    const { items, total } = await listPackageFiles(ctx, subject, found.id, { page: input.page, per_page: PER_PAGE })
    const { name, version, type, tags, metadata, creator, pipeline } = found
    const links = projectLinks(view, fullPathOf(subject.project))
    const at = `${homeOfProject(subject)}/-/packages/${found.id}`
    const mayDelete = subject.can('destroy_package')
    return {
      title: `${name} ${version} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="packages">
          <div class="heading">
            <h1>
              {name} {version} <Badge kind="outline">{FORMATS[type]}</Badge>{' '}
              {tags.map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
            </h1>
            <div class="toolbar">
              {mayDelete && <ActionButton view={view} action={at} method="DELETE" label={t('Delete')} what={`${name} ${version}`} class="danger" />}
            </div>
          </div>
          <Facts
            facts={[
              [t('Description'), text(metadata['description']) ?? text(metadata['summary'])],
              [t('Deprecated'), text(metadata['deprecated'])],
              [t('Python'), text(metadata['requires_python'])],
              [t('License'), text(metadata['license']) ?? text(metadata['licenseExpression'])],
              [t('Published'), <Time key="published" at={found.created_at} />],
              [t('By'), creator && <PersonLink view={view} user={creator} />],
              [t('Pipeline'), pipeline && <a href={links.page(`pipelines/${pipeline.id}`)}>#{pipeline.id}</a>],
            ]}
          />
          {installing(view.links, found, items.at(-1)?.file_name).map(([title, commands]) => (
            <section key={title}>
              <h2>{title}</h2>
              {commands.map((command, i) => (
                <Command key={command} id={`install-${i}`} text={command} />
              ))}
            </section>
          ))}
          <h2>{t('Files')}</h2>
          <Rows empty={t('There are no files.')}>
            {items.map((file) => (
              <Row
                key={file.id}
                actions={
                  mayDelete && (
                    <ActionButton
                      view={view}
                      action={`${at}/files/${file.id}`}
                      method="DELETE"
                      label={t('Delete')}
                      what={file.file_name}
                      class="danger"
                    />
                  )
                }
              >
                <span class="wrap">
                  <a href={links.page(`package_files/${file.id}/download`)}>{file.file_name}</a> {sizeText(file.size)}
                </span>
                <span class="dim wrap">
                  <Phrase text="SHA-256 {oid}" oid={<code>{file.oid}</code>} />
                  {' · '}
                  <Time at={file.created_at} />
                </span>
              </Row>
            ))}
          </Rows>
          <Pager view={view} page={input.page} perPage={PER_PAGE} total={total} />
          {found.versions.length > 0 && (
            <>
              <h2>{t('Other versions')}</h2>
              <Rows empty="">
                {found.versions.map((other) => (
                  <Row key={other.id}>
                    <span class="wrap">
                      <a href={links.page(`packages/${other.id}`)}>{other.version}</a>{' '}
                      {other.tags.map((tag) => (
                        <Badge key={tag}>{tag}</Badge>
                      ))}
                    </span>
                    <span class="dim">
                      <Time at={other.created_at} />
                    </span>
                  </Row>
                ))}
              </Rows>
            </>
          )}
        </ProjectLayout>
      ),
    }
  },
})

/** A file for a browser, which has no token. */
export const packageFilePage = page({
  at: 'P/-/package_files/:file_id/download',
  access: reads,
  input: z.object({ file_id: rowId() }),
  async show({ ctx, subject, input }) {
    const { oid, size, file_name } = await getPackageFile(ctx, subject, input.file_id)
    return new Content({
      etag: `"${oid}"`,
      size,
      headers: { 'content-type': 'application/octet-stream', 'content-disposition': attachment(file_name) },
      async open(part) {
        const stream = await ctx.packages.get(oid, part)
        if (!stream) throw notFound()
        return stream
      },
    })
  },
})

export const packageRemoval = form({
  at: 'P/-/packages/:package_id',
  method: 'DELETE',
  access: deletes,
  input: z.object({ package_id }),
  async submit({ ctx, subject, input }) {
    await deletePackage(ctx, subject, input.package_id)
    return new Redirect(`${homeOfProject(subject)}/-/packages`, { notice: t('The package is deleted.') })
  },
})

export const packageFileRemoval = form({
  at: 'P/-/packages/:package_id/files/:file_id',
  method: 'DELETE',
  access: deletes,
  input: z.object({ package_id, file_id: rowId() }),
  async submit({ ctx, subject, input }) {
    await deletePackageFile(ctx, subject, input.package_id, input.file_id)
    return new Redirect(`${homeOfProject(subject)}/-/packages/${input.package_id}`, { notice: t('The file is deleted.') })
  },
})
