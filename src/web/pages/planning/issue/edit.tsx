import { z } from 'zod'
import { onIssueSignedIn } from '../../../../access/issues.js'
import { fullPathOf } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { oneOf, opt, str } from '../../../../http/params.js'
import { updateIssueWithCommands } from '../../../../services/quick-actions/descriptions.js'
import { Editor, EditorForm } from '../../../components/editor/editor.js'
import { checkVersion, Version } from '../../../components/editor/version.js'
import { Field, FormFaults, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectLayout } from '../../../layout/project.js'
import { form, page, Redirect } from '../../../page.js'
import { addressOf } from './address.js'

export const texts = z.object({
  version: opt(str()),
  issue: z.object({ state_event: opt(oneOf(['close', 'reopen'])), title: opt(documented.title()), description: opt(str()) }),
})

export const editIssuePage = page({
  at: 'P/-/issues/:issue_iid/edit',
  access: onIssueSignedIn('update_issue'),
  async show({ subject, view }) {
    const { issue } = subject
    const f = fieldsOf(view, texts)
    return {
      title: `${t('Edit #{iid}', { iid: issue.iid })} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="issues">
          <h1>
            <Phrase text="Edit #{iid}" iid={issue.iid} />
          </h1>
          <EditorForm view={view} action={addressOf(subject)} method="PUT">
            <FormFaults view={view} />
            <Version
              {...f.version}
              texts={[
                { label: t('Title'), text: issue.title },
                { label: t('Description'), text: issue.description },
              ]}
            />
            <Field {...f.issue.title} label={t('Title')} value={issue.title} />
            <Editor {...f.issue.description} label={t('Description')} value={issue.description} rows={14} hint={t('Markdown.')} project={subject} />
            <Submit label={t('Save changes')} />
          </EditorForm>
        </ProjectLayout>
      ),
    }
  },
})

export const issueChange = form({
  at: 'P/-/issues/:issue_iid',
  method: 'PUT',
  files: true,
  access: onIssueSignedIn('update_issue'),
  input: texts,
  on: editIssuePage,
  async submit({ ctx, caller, subject, input: { issue, version } }) {
    const { state_event } = issue
    const check =
      version === undefined ? undefined : (before: { title: string; description: string }) => checkVersion(version, before.title, before.description)
    await updateIssueWithCommands(ctx, caller, subject, { ...issue, check })
    const notice = state_event === undefined ? t('Issue updated.') : state_event === 'close' ? t('Issue closed.') : t('Issue reopened.')
    return new Redirect(addressOf(subject), { notice })
  },
})
