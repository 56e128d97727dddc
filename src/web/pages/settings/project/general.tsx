import { z } from 'zod'
import * as documented from '../../../../http/documented.js'
import { commaList, file, oneOf, opt, str } from '../../../../http/params.js'
import { VISIBILITIES, VISIBILITY_LEVEL, visibilityName } from '../../../../rules/visibility.js'
import { updateProject } from '../../../../services/projects/update.js'
import { ActionButton, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../../components/form.js'
import { PictureField, pictureOf } from '../../../components/people/avatar.js'
import { visibilityChoices } from '../../../components/projects/visibility.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject } from '../../../links.js'
import { form, page, Redirect } from '../../../page.js'
import { manage, titled } from './settings.js'

export const settingsPage = page({
  at: 'P/-/settings',
  access: manage,
  show: async ({ subject }) => new Redirect(`${homeOfProject(subject)}/edit`),
})

const general = z.object({
  project: z.object({
    name: opt(documented.projectName()),
    description: opt(str()),
    tag_list: opt(commaList()),
    visibility_level: opt(oneOf(VISIBILITIES)),
    default_branch: opt(str()),
    avatar: opt(file()),
  }),
})

export const generalPage = page({
  at: 'P/edit',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const at = `${homeOfProject(subject)}/edit`
    const highest = project.namespace.kind === 'group' ? project.namespace.visibility : VISIBILITY_LEVEL.public
    const f = fieldsOf(view, general).project
    return {
      title: titled(t('Settings'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="edit" title={t('General')}>
          <FormTag view={view} action={at} method="PUT" files>
            <FormFaults view={view} />
            {subject.can('rename_project') && <Field {...f.name} label={t('Name')} value={project.name} />}
            <TextField {...f.description} label={t('Description')} value={project.description} rows={3} />
            <Field {...f.tag_list} label={t('Topics')} value={project.tag_list.join(', ')} hint={t('Separated by commas.')} />
            {subject.can('change_visibility') && (
              <SelectField
                {...f.visibility_level}
                label={t('Visibility')}
                value={visibilityName(project.visibility)}
                choices={visibilityChoices(view, highest, project.visibility)}
                hint={t('Forks become no more visible than this.')}
              />
            )}
            {!project.empty_repo && (
              <Field
                {...f.default_branch}
                label={t('Default branch')}
                value={project.default_branch}
                hint={t('What a clone checks out, and what merge requests are for unless they say otherwise.')}
              />
            )}
            <PictureField {...f.avatar} />
            <Submit label={t('Save changes')} />
          </FormTag>
          {project.avatar && (
            <ActionButton view={view} action={`${homeOfProject(subject)}/-/avatar`} method="DELETE" label={t('Remove avatar')} class="danger" />
          )}
        </ProjectSettings>
      ),
    }
  },
})

export const generalForm = form({
  at: 'P/edit',
  method: 'PUT',
  access: manage,
  input: general,
  files: true,
  on: generalPage,
  async submit({ ctx, caller, subject, input: { project } }) {
    const { avatar, visibility_level, default_branch, ...rest } = project
    await updateProject(ctx, caller, subject, {
      ...rest,
      visibility: visibility_level,
      default_branch: default_branch || undefined,
      avatar: pictureOf(avatar),
    })
    return new Redirect(`${homeOfProject(subject)}/edit`, { notice: t('Settings updated.') })
  },
})

export const avatarRemoval = form({
  at: 'P/-/avatar',
  method: 'DELETE',
  access: manage,
  async submit({ ctx, caller, subject }) {
    await updateProject(ctx, caller, subject, { avatar: null })
    return new Redirect(`${homeOfProject(subject)}/edit`, { notice: t('Avatar removed.') })
  },
})
