import { fullPathOf, onProject, type ProjectSubject } from '../../../../access/rules.js'
import { nullOnFailure } from '../../../../failures.js'
import { configurationPath } from '../../../../services/ci/includes.js'
import { lintOfProject } from '../../../../services/ci/lint.js'
import { getFile } from '../../../../services/repository/files.js'
import { ConfigurationCheck } from '../../../components/ci/check.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { type ProjectLinks, projectLinks } from '../../../links.js'
import { page, Redirect } from '../../../page.js'

/** Where the configuration of the default branch is changed, or made. */
const editorOf = ({ project }: ProjectSubject, links: ProjectLinks, isThere: boolean) => {
  const [branch, path] = [project.default_branch, configurationPath(project)]
  return isThere ? links.edit(branch, path) : `${links.newFile(branch)}?${new URLSearchParams({ file_name: path })}`
}

/** What the configuration of the default branch means (WB-750). */
export const configurationPage = page({
  at: 'P/-/ci/lint',
  access: onProject('download_code'),
  async show({ ctx, caller, subject, view }) {
    const links = projectLinks(view, fullPathOf(subject.project))
    const path = configurationPath(subject.project)
    const branch = subject.project.default_branch
    const isThere = (await nullOnFailure(getFile(ctx, subject, path, branch))) !== null
    const record = isThere ? await lintOfProject(ctx, caller, subject, { include_jobs: true }) : null
    return {
      title: `${t('CI configuration')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout
          view={view}
          subject={subject}
          tab="ci"
          heading={t('CI configuration')}
          tools={
            <>
              {isThere && (
                <a class="button" href={links.blob(branch, path)}>
                  {path}
                </a>
              )}
              {subject.can('push_code') && (
                <a class="button primary" href={editorOf(subject, links, isThere)}>
                  {isThere ? t('Edit') : t('Create {path}', { path })}
                </a>
              )}
            </>
          }
        >
          {record ? (
            <>
              <section class="box" aria-label={t('Check')}>
                <ConfigurationCheck record={record} />
              </section>
              {record.merged_yaml !== null && (
                <details class="box">
                  <summary class="head">{t('With what it includes and extends')}</summary>
                  <pre class="note">{record.merged_yaml}</pre>
                </details>
              )}
            </>
          ) : (
            <p class="empty">
              <Phrase text="There is no {path} on the default branch: pushes make no pipelines." path={<code>{path}</code>} />
            </p>
          )}
        </ProjectLayout>
      ),
    }
  },
})

/** Where the original's editor is: leads to that of the file, or to its check for those who may not change it. */
export const configurationEditor = page({
  at: 'P/-/ci/editor',
  access: onProject('download_code'),
  async show({ ctx, subject, view }) {
    const { project } = subject
    const links = projectLinks(view, fullPathOf(project))
    if (!subject.can('push_code')) return new Redirect(links.page('ci/lint').slice(view.links.prefix.length))
    const isThere = (await nullOnFailure(getFile(ctx, subject, configurationPath(project), project.default_branch))) !== null
    return new Redirect(editorOf(subject, links, isThere).slice(view.links.prefix.length))
  },
})
