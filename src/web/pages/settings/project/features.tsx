import { z } from 'zod'
import { oneOf, opt } from '../../../../http/params.js'
import type { FeatureLevel } from '../../../../services/projects/attributes.js'
import { updateProject } from '../../../../services/projects/update.js'
import { Checkbox, FormFaults, FormTag, SelectField, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject } from '../../../links.js'
import { form, page, Redirect } from '../../../page.js'
import { manage, titled, unchecked } from './settings.js'

const FEATURE_CHOICES = [
  { value: 'enabled', label: 'Everyone who sees the project' },
  { value: 'private', label: 'Members only' },
  { value: 'disabled', label: 'Off' },
] as const
const WORDS: Record<number, FeatureLevel> = { 0: 'disabled', 10: 'private', 20: 'enabled' }

const FEATURES = [
  ['repository', 'Repository', 'Without it there are no merge requests and no CI either.'],
  ['merge_requests', 'Merge requests', undefined],
  ['issues', 'Issues', undefined],
  ['wiki', 'Wiki', undefined],
  ['snippets', 'Snippets', undefined],
  ['builds', 'CI', 'Pipelines and jobs, as statuses of commits.'],
  ['forking', 'Forks', undefined],
] as const
const SWITCHES = [
  ['request_access_enabled', 'People may request access', 'Who sees the project without being a member asks, and maintainers answer.'],
  ['public_jobs', 'Everyone who sees the project sees its pipelines', undefined],
  ['auto_cancel_pending_pipelines', 'Newer pipelines of a branch cancel older ones', 'Only where no job has started that must not be interrupted.'],
  ['lfs_enabled', 'Git LFS', 'Large files are kept outside the repository.'],
  ['emails_disabled', 'Send no mail about what happens here', undefined],
] as const

const level = () => opt(oneOf(['enabled', 'private', 'disabled']))
const features = z.object({
  project: z.object({
    repository_access_level: level(),
    merge_requests_access_level: level(),
    issues_access_level: level(),
    wiki_access_level: level(),
    snippets_access_level: level(),
    builds_access_level: level(),
    forking_access_level: level(),
    request_access_enabled: unchecked(),
    public_jobs: unchecked(),
    auto_cancel_pending_pipelines: unchecked(),
    lfs_enabled: unchecked(),
    emails_disabled: unchecked(),
  }),
})

export const featuresPage = page({
  at: 'P/-/settings/features',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const f = fieldsOf(view, features).project
    return {
      title: titled('Features', subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/features" title="Features">
          <FormTag view={view} action={`${homeOfProject(subject)}/-/settings/features`} method="PUT">
            <FormFaults view={view} />
            <div class="columns">
              {FEATURES.map(([feature, label, hint]) => (
                <SelectField
                  key={feature}
                  {...f[`${feature}_access_level`]}
                  label={label}
                  value={WORDS[project[`${feature}_access_level`]] ?? 'enabled'}
                  choices={FEATURE_CHOICES}
                  hint={hint}
                />
              ))}
            </div>
            {SWITCHES.map(([name, label, hint]) => (
              <Checkbox key={name} {...f[name]} label={label} hint={hint} checked={project[name]} />
            ))}
            <Submit label="Save changes" />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const featuresForm = form({
  at: 'P/-/settings/features',
  method: 'PUT',
  access: manage,
  input: features,
  on: featuresPage,
  async submit({ ctx, caller, subject, input }) {
    const auto_cancel_pending_pipelines = input.project.auto_cancel_pending_pipelines ? 'enabled' : 'disabled'
    await updateProject(ctx, caller, subject, { ...input.project, auto_cancel_pending_pipelines })
    return new Redirect(`${homeOfProject(subject)}/-/settings/features`, { notice: 'Features updated.' })
  },
})
