import { z } from 'zod'
import { clearable, int, oneOf, opt } from '../../../../http/params.js'
import { DEFAULT_GIT_DEPTH, GIT_STRATEGIES } from '../../../../rules/project-settings.js'
import type { FeatureLevel } from '../../../../services/projects/attributes.js'
import { updateProject } from '../../../../services/projects/update.js'
import { Checkbox, Field, FormFaults, FormTag, SelectField, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject } from '../../../links.js'
import { form, page, Redirect } from '../../../page.js'
import { manage, titled, unchecked } from './settings.js'

const featureChoices = () =>
  [
    { value: 'enabled', label: t('Everyone who sees the project') },
    { value: 'private', label: t('Members only') },
    { value: 'disabled', label: t('Off') },
  ] as const
const gitChoices = () =>
  [
    { value: 'fetch', label: t('Fetch, which is faster') },
    { value: 'clone', label: t('Clone each time') },
  ] as const
const WORDS: Record<number, FeatureLevel> = { 0: 'disabled', 10: 'private', 20: 'enabled' }

const featuresTexts = () =>
  [
    ['repository', t('Repository'), t('Without it there are no merge requests and no CI either.')],
    ['merge_requests', t('Merge requests'), undefined],
    ['issues', t('Issues'), undefined],
    ['wiki', t('Wiki'), undefined],
    ['snippets', t('Snippets'), undefined],
    ['builds', 'CI', t('Pipelines and jobs, as statuses of commits.')],
    ['forking', t('Forks'), undefined],
    ['operations', t('Environments'), t('What is deployed where.')],
    ['analytics', t('Contributors'), t('The page that counts who wrote what.')],
  ] as const
const switches = () =>
  [
    ['request_access_enabled', t('People may request access'), t('Who sees the project without being a member asks, and maintainers answer.')],
    ['public_jobs', t('Everyone who sees the project sees its pipelines'), undefined],
    [
      'auto_cancel_pending_pipelines',
      t('Newer pipelines of a branch cancel older ones'),
      t('Only where no job has started that must not be interrupted.'),
    ],
    [
      'ci_forward_deployment_enabled',
      t('Jobs do not deploy what is older than what is deployed'),
      t('Except manual jobs, and jobs that are tried again.'),
    ],
    ['keep_latest_artifact', t('Files of the newest pipeline are kept'), t('Also when their time is over.')],
    ['restrict_user_defined_variables', t('Only maintainers give variables to pipelines'), undefined],
    ['lfs_enabled', t('Git LFS'), t('Large files are kept outside the repository.')],
    ['emails_disabled', t('Send no mail about what happens here'), undefined],
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
    operations_access_level: level(),
    analytics_access_level: level(),
    request_access_enabled: unchecked(),
    public_jobs: unchecked(),
    auto_cancel_pending_pipelines: unchecked(),
    ci_forward_deployment_enabled: unchecked(),
    keep_latest_artifact: unchecked(),
    restrict_user_defined_variables: unchecked(),
    lfs_enabled: unchecked(),
    emails_disabled: unchecked(),
    build_timeout: opt(int()),
    build_git_strategy: opt(oneOf(GIT_STRATEGIES)),
    ci_default_git_depth: opt(int()),
    build_coverage_regex: opt(clearable()),
  }),
})

export const featuresPage = page({
  at: 'P/-/settings/features',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const f = fieldsOf(view, features).project
    return {
      title: titled(t('Features'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/features" title={t('Features')}>
          <FormTag view={view} action={`${homeOfProject(subject)}/-/settings/features`} method="PUT">
            <FormFaults view={view} />
            <div class="columns">
              {featuresTexts().map(([feature, label, hint]) => (
                <SelectField
                  key={feature}
                  {...f[`${feature}_access_level`]}
                  label={label}
                  value={WORDS[project[`${feature}_access_level`]] ?? 'enabled'}
                  choices={featureChoices()}
                  hint={hint}
                />
              ))}
            </div>
            {switches().map(([name, label, hint]) => (
              <Checkbox key={name} {...f[name]} label={label} hint={hint} checked={project[name]} />
            ))}
            <h2>{t('Jobs')}</h2>
            <div class="columns">
              <Field
                {...f.build_timeout}
                label={t('Time in seconds')}
                type="number"
                value={String(project.build_timeout)}
                hint={t('For jobs that name none.')}
              />
              <SelectField {...f.build_git_strategy} label={t('How they get the code')} value={project.build_git_strategy} choices={gitChoices()} />
              <Field
                {...f.ci_default_git_depth}
                label={t('Commits of history')}
                type="number"
                value={String(project.ci_default_git_depth ?? DEFAULT_GIT_DEPTH)}
                hint={t('0: all of it.')}
              />
              <Field
                {...f.build_coverage_regex}
                label={t('Pattern of the coverage in logs')}
                value={project.build_coverage_regex ?? ''}
                hint={t('For jobs without one, such as {pattern}.', { pattern: '\\d+%' })}
              />
            </div>
            <Submit label={t('Save changes')} />
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
    return new Redirect(`${homeOfProject(subject)}/-/settings/features`, { notice: t('Features updated.') })
  },
})
