import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../../../access/rules.js'
import * as documented from '../../../../http/documented.js'
import { list, opt, orDefault, str, where } from '../../../../http/params.js'
import { runPipeline } from '../../../../services/ci/create.js'
import { Field, FormFaults, FormTag, Submit } from '../../../components/form.js'
import { fieldsOf } from '../../../fields.js'
import { ProjectLayout } from '../../../layout/project.js'
import { form, page, Redirect } from '../../../page.js'
import { ciAddress } from './shared.js'

/** Variables that the form takes. */
const ROWS = 5
const access = onProjectSignedIn('create_pipeline')

const value = where(str(), (text) => text.length <= 65_536, 'is too long', { maxLength: 65_536 })

const newPipeline = z.object({
  pipeline: z.object({
    ref: orDefault(documented.filled(), ''),
    variables: orDefault(list(z.object({ key: orDefault(documented.short(), ''), value: orDefault(value, '') }), ROWS), []),
  }),
})

export const newPipelinePage = page({
  at: 'P/-/pipelines/new',
  access,
  input: z.object({ ref: opt(str()) }),
  async show({ subject, input, view }) {
    const f = fieldsOf(view, newPipeline).pipeline
    return {
      title: `Run pipeline · ${fullPathOf(subject.project)}`,
      body: (
        <ProjectLayout view={view} subject={subject} tab="ci">
          <h1>Run pipeline</h1>
          <FormTag view={view} action={ciAddress(subject, 'pipelines')} once>
            <FormFaults view={view} />
            <Field {...f.ref} label="Branch or tag" value={input.ref ?? subject.project.default_branch} />
            <fieldset>
              <legend>Variables</legend>
              <p class="hint">They count above those of the project, for this pipeline alone. Without a key a line is left out.</p>
              {Array.from({ length: ROWS }, (_, i) => (
                <div class="key-value" key={i}>
                  <Field {...f.variables(i).key} label={`Key ${i + 1}`} autocomplete="off" />
                  <Field {...f.variables(i).value} label={`Value ${i + 1}`} autocomplete="off" />
                </div>
              ))}
            </fieldset>
            <Submit label="Run pipeline" />
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
    return new Redirect(ciAddress(subject, `pipelines/${id}`), { notice: 'The pipeline is made.' })
  },
})
