import { z } from 'zod'
import type { ProjectSubject } from '../../../../access/rules.js'
import { Failure } from '../../../../failures.js'
import { oneOf, orDefault, str } from '../../../../http/params.js'
import { AGES, CADENCES, KEPT, policyOf } from '../../../../rules/registry/expiration.js'
import { updateProject } from '../../../../services/projects/update.js'
import { Checkbox, Field, FormFaults, FormTag, SelectField, Submit } from '../../../components/form.js'
import { Time } from '../../../components/time.js'
import { fieldsOf } from '../../../fields.js'
import { plural, t } from '../../../language/language.js'
import { Phrase } from '../../../language/phrase.js'
import { ProjectSettings } from '../../../layout/manage.js'
import { homeOfProject, projectLinks } from '../../../links.js'
import { form, page, Redirect } from '../../../page.js'
import { manage, titled, unchecked } from './settings.js'

const at = 'P/-/settings/images'
const addressOf = (subject: Pick<ProjectSubject, 'project'>) => `${homeOfProject(subject)}/-/settings/images`

/** What stands for null among the choices. */
const NONE = 'none'
const text = () => orDefault(str(), '')
const policyInput = z.object({
  policy: z.object({
    enabled: unchecked(),
    cadence: orDefault(oneOf(CADENCES), '1d'),
    keep_n: orDefault(oneOf([NONE, ...KEPT.map(String)]), NONE),
    older_than: orDefault(oneOf([NONE, ...AGES]), NONE),
    name_regex: text(),
    name_regex_keep: text(),
  }),
})

const cadences = () => {
  const texts = [t('Every day'), t('Every week'), t('Every two weeks'), t('Every month'), t('Every three months')]
  return CADENCES.map((value, at) => ({ value, label: texts[at] as string }))
}
const kept = () => [
  { value: NONE, label: t('None is kept for being new') },
  ...KEPT.map((n) => ({ value: String(n), label: plural(n, 'The newest tag', 'The {count} newest tags') })),
]
const ages = () => [
  { value: NONE, label: t('Of any age') },
  ...AGES.map((value) => ({ value, label: t('Older than {days} days', { days: Number.parseInt(value, 10) }) })),
]

/** Which tags of images go by themselves (OCI-82). */
export const imagePolicyPage = page({
  at,
  access: manage,
  async show({ subject, view }) {
    const { project } = subject
    const policy = policyOf(project.container_expiration_policy)
    const next = project.container_expiration_next_run_at
    const f = fieldsOf(view, policyInput).policy
    return {
      title: titled(t('Images'), subject),
      body: (
        <ProjectSettings view={view} subject={subject} at="-/settings/images" title={t('Images')}>
          <p>
            <Phrase
              text="Tags of {link} that nobody needs any more can go by themselves. {latest} always stays."
              link={<a href={projectLinks(view, `${project.namespace.full_path}/${project.path}`).page('container_registry')}>{t('images')}</a>}
              latest={<code>latest</code>}
            />{' '}
            {next && <Phrase text="Next run: {time}." time={<Time at={next} />} />}
          </p>
          <FormTag view={view} action={addressOf(subject)} method="PUT">
            <FormFaults view={view} />
            <Checkbox {...f.enabled} label={t('Remove tags automatically')} checked={policy.enabled} />
            <SelectField {...f.cadence} label={t('How often')} value={policy.cadence} choices={cadences()} />
            <Field
              {...f.name_regex}
              label={t('Tags that go')}
              value={policy.name_regex}
              hint={<Phrase text="A regular expression of RE2 for whole names: {code} is all of them." code={<code>.*</code>} />}
              autocomplete="off"
            />
            <SelectField {...f.older_than} label={t('Of these, those that are')} value={policy.older_than ?? NONE} choices={ages()} />
            <SelectField
              {...f.keep_n}
              label={t('Kept in each repository')}
              value={policy.keep_n === null ? NONE : String(policy.keep_n)}
              choices={kept()}
            />
            <Field
              {...f.name_regex_keep}
              label={t('Tags that stay')}
              value={policy.name_regex_keep}
              hint={<Phrase text="Likewise, such as {code}. Empty: none because of its name." code={<code>v.+|main</code>} />}
              autocomplete="off"
            />
            <Submit label={t('Save changes')} />
          </FormTag>
        </ProjectSettings>
      ),
    }
  },
})

const RECORD = /^container_expiration_policy\./

export const imagePolicyForm = form({
  at,
  method: 'PUT',
  access: manage,
  input: policyInput,
  on: imagePolicyPage,
  async submit({ ctx, caller, subject, input: { policy } }) {
    const given = {
      ...policy,
      keep_n: policy.keep_n === NONE ? null : Number(policy.keep_n),
      older_than: policy.older_than === NONE ? null : policy.older_than,
      name_regex_keep: policy.name_regex_keep || null,
    }
    await updateProject(ctx, caller, subject, { container_expiration_policy_attributes: given }).catch((error: unknown) => {
      throw error instanceof Failure ? ofFields(error) : error
    })
    return new Redirect(addressOf(subject), { notice: t('Saved.') })
  },
})

/** The same refusal, of the fields of the form. */
function ofFields({ kind, body, headers }: Failure): Failure {
  const { message } = typeof body === 'string' ? { message: body } : (body as { message?: unknown })
  if (typeof message !== 'object' || message === null) return new Failure(kind, body, headers)
  return new Failure(kind, { message: Object.fromEntries(Object.entries(message).map(([name, texts]) => [name.replace(RECORD, ''), texts])) })
}
