import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { opt, orDefault, str } from '../../../../http/params.js'
import { runPipeline } from '../../../../services/ci/create.js'
import { Field, FormFaults, FormTag, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { t } from '../../../language/language.js'
import { ProjectLayout } from '../../../layout/project.js'
import { form, page, Redirect } from '../../../page.js'
import { ciAddress, VariableLines, variableLines } from './shared.js'

const access = onProjectSignedIn('create_pipeline')

const newPipeline = z.object({
  pipeline: z.object({
    ref: orDefault(documented.filled(), ''),
    variables: variableLines,
  }),
})

export const newPipelinePage = page({
  at: 'P/-/pipelines/new',
  access,
  input: z.object({ ref: opt(str()) }),
  async show({ subject, input, view }) {
    const f = fieldsOf(view, newPipeline).pipeline
    return {
      title: `${t('Run pipeline')} · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>{t('Run pipeline')}</h1>
          <FormTag view={view} action={ciAddress(subject, 'pipelines')} once>
            <FormFaults view={view} />
            <Field {...f.ref} label={t('Branch or tag')} value={input.ref ?? subject.project.default_branch} />
            <VariableLines
              fields={f.variables}
              hint={t('They count above those of the project, for this pipeline alone. Without a key a line is left out.')}
            />
            <Submit label={t('Run pipeline')} />
          </FormTag>
        </ProjectLayout>
      ),
    }
  },
})

export const newPipelineForm = form({
  at: 'P/-/pipelines',
  access,
  input: newPipeline,
  on: newPipelinePage,
  async submit({ ctx, subject, caller, input: { pipeline } }) {
    const variables = pipeline.variables.filter(({ key }) => key !== '')
    const id = await runPipeline(ctx, caller, subject, { ref: pipeline.ref, variables, source: 'web' })
    return new Redirect(ciAddress(subject, `pipelines/${id}`), { notice: t('The pipeline is made.') })
  },
})
