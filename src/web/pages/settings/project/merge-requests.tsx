import { z } from 'zod'
import { oneOf, opt, orDefault, str } from '../../../../http/params.js'
import { SQUASH_OPTIONS } from '../../../../rules/squash.js'
import { updateProject } from '../../../../services/projects/update.js'
import { Checkbox, Field, FormFaults, FormTag, SelectField, Submit, TextField } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject } from '../../../links.js'
import { form, page, Redirect } from '../../../page.js'
import { manage, titled, unchecked } from './settings.js'

const text = () => orDefault(str(), '')

const methods = () =>
  [
    { value: 'merge', label: t('Merge commit') },
    { value: 'rebase_merge', label: t('Merge commit, only when the branch is up to date') },
    { value: 'ff', label: t('Fast-forward, without merge commits') },
  ] as const
const squashes = () =>
  [
    { value: 'default_off', label: t('Allowed, off at first') },
    { value: 'default_on', label: t('Allowed, on at first') },
    { value: 'always', label: t('Always') },
    { value: 'never', label: t('Never') },
  ] as const
const rules = () =>
  [
    [
      'only_allow_merge_if_pipeline_succeeds',
      t('Pipelines must succeed'),
      t('Nothing is merged while the newest pipeline of its head runs or has failed.'),
    ],
    ['allow_merge_on_skipped_pipeline', t('A skipped pipeline counts as one that succeeded'), undefined],
    ['only_allow_merge_if_all_discussions_are_resolved', t('All threads must be resolved'), undefined],
    ['remove_source_branch_after_merge', t('Delete source branches after the merge, unless a merge request says otherwise'), undefined],
    ['resolve_outdated_diff_discussions', t('Resolve threads on lines that a later push changes'), undefined],
    ['printing_merge_request_link_enabled', t('Git prints a link to open a merge request after a push'), undefined],
    ['autoclose_referenced_issues', t('Close the issues that commits and merge requests say they close'), undefined],
  ] as const
const templates = () =>
  [
    [
      'merge_commit_template',
      t('Message of merge commits'),
      t('Such as {names}. Empty: the usual one.', { names: '%{title}, %{description}, %{source_branch}, %{target_branch}, %{reference}' }),
    ],
    ['squash_commit_template', t('Message of squashed commits'), t('The same placeholders. Empty: the title.')],
  ] as const
const lines = () =>
  [
    [
      'suggestion_commit_message',
      t('Message of applied suggestions'),
      t('Such as {names}. Empty: the usual one.', { names: '%{files_count}, %{file_paths}, %{username}' }),
    ],
    [
      'issue_branch_template',
      t('Name of branches made from issues'),
      t('With {id} and {title}. Empty: {both}.', { id: '%{id}', title: '%{title}', both: '%{id}-%{title}' }),
    ],
  ] as const

const mergeRules = z.object({
  project: z.object({
    merge_method: opt(oneOf(['merge', 'rebase_merge', 'ff'])),
    squash_option: opt(oneOf([...SQUASH_OPTIONS])),
    only_allow_merge_if_pipeline_succeeds: unchecked(),
    allow_merge_on_skipped_pipeline: unchecked(),
    only_allow_merge_if_all_discussions_are_resolved: unchecked(),
    remove_source_branch_after_merge: unchecked(),
    resolve_outdated_diff_discussions: unchecked(),
    printing_merge_request_link_enabled: unchecked(),
    autoclose_referenced_issues: unchecked(),
    merge_commit_template: text(),
    squash_commit_template: text(),
    suggestion_commit_message: text(),
    issue_branch_template: text(),
  }),
})

export const mergeRulesPage = page({
  at: 'P/-/settings/merge_requests',
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const f = fieldsOf(view, mergeRules).project
    return {
      title: titled(t('Merge requests'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/merge_requests" title={t('Merge requests')}>
          <FormTag view={view} action={`${homeOfProject(subject)}/-/settings/merge_requests`} method="PUT">
            <FormFaults view={view} />
            <div class="columns">
              <SelectField {...f.merge_method} label={t('Method')} value={project.merge_method} choices={methods()} />
              <SelectField {...f.squash_option} label={t('Squash commits')} value={project.squash_option} choices={squashes()} />
            </div>
            {rules().map(([name, label, hint]) => (
              <Checkbox key={name} {...f[name]} label={label} hint={hint} checked={project[name]} />
            ))}
            {templates().map(([name, label, hint]) => (
              <TextField key={name} {...f[name]} label={label} hint={hint} value={project[name]} rows={3} class="code" />
            ))}
            {lines().map(([name, label, hint]) => (
              <Field key={name} {...f[name]} label={label} hint={hint} value={project[name]} />
            ))}
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

export const mergeRulesForm = form({
  at: 'P/-/settings/merge_requests',
  method: 'PUT',
  access: manage,
  input: mergeRules,
  on: mergeRulesPage,
  async submit({ ctx, caller, subject, input: { project } }) {
    await updateProject(ctx, caller, subject, {
      ...project,
      merge_commit_template: project.merge_commit_template || null,
      squash_commit_template: project.squash_commit_template || null,
      suggestion_commit_message: project.suggestion_commit_message || null,
      issue_branch_template: project.issue_branch_template || null,
    })
    return new Redirect(`${homeOfProject(subject)}/-/settings/merge_requests`, { notice: t('Rules updated.') })
  },
})
