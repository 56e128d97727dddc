import { z } from 'zod'
import { anyone, onProject } from '../../access/rules.js'
import { LicenseText, presentLicense, presentTemplate, presentTemplateName, Template, TemplateName } from '../../entities/content/template.js'
import { notFound } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, filledIn, oneOf, opt, paging, str } from '../../http/params.js'
import { findDescriptionTemplate, listDescriptionTemplates } from '../../services/content/description-templates.js'
import { FILE_KINDS, type FileKind, getFileTemplate, getLicense, listFileTemplates, listLicenses } from '../../services/content/templates.js'
import { slice } from '../../services/core/page.js'

const name = filledIn()
const facts = { project: opt(str()), fullname: opt(str()) }
const DESCRIPTIONS = ['issues', 'merge_requests'] as const
const type = oneOf(['licenses', ...FILE_KINDS, ...DESCRIPTIONS])
const NAMES = { gitignores: '.gitignore files', dockerfiles: 'Dockerfiles', gitlab_ci_ymls: 'CI configurations' }

const filesOf = (kind: FileKind) => [
  endpoint({
    method: 'GET',
    path: `/templates/${kind}`,
    summary: `List the templates of ${NAMES[kind]}`,
    access: anyone,
    input: z.object(paging),
    output: z.array(TemplateName),
    handler: async ({ input }) => pageOf(slice(await listFileTemplates(kind), input), input, presentTemplateName),
  }),
  endpoint({
    method: 'GET',
    path: `/templates/${kind}/:name`,
    summary: `Get a template of ${NAMES[kind]}`,
    access: anyone,
    input: z.object({ name }),
    output: Template,
    handler: async ({ input }) => presentTemplate(await getFileTemplate(kind, input.name)),
  }),
]

/** Texts that new files and descriptions may begin with (TM-1 to TM-5). */
export const templates = [
  endpoint({
    method: 'GET',
    path: '/templates/licenses',
    summary: 'List licences',
    access: anyone,
    input: z.object({ popular: opt(bool()), ...paging }),
    output: z.array(LicenseText),
    handler: async ({ input }) => pageOf(slice(await listLicenses(input), input), input, presentLicense),
  }),
  endpoint({
    method: 'GET',
    path: '/templates/licenses/:name',
    summary: 'Get a licence',
    access: anyone,
    input: z.object({ name, ...facts }),
    output: LicenseText,
    handler: async ({ ctx, caller, input }) =>
      presentLicense(await getLicense(ctx, input.name, { project: input.project, fullname: input.fullname ?? caller.user?.name })),
  }),
  ...FILE_KINDS.flatMap(filesOf),
  endpoint({
    method: 'GET',
    path: '/projects/:id/templates/:type',
    summary: 'List the templates for a project',
    access: onProject('read_project'),
    input: z.object({ type, ...paging }),
    output: z.array(TemplateName),
    async handler({ ctx, subject, input }) {
      if (input.type === 'licenses') return pageOf(slice(await listLicenses({}), input), input, ({ key, name: title }) => ({ key, name: title }))
      const names =
        input.type === 'issues' || input.type === 'merge_requests'
          ? await listDescriptionTemplates(ctx, subject, input.type)
          : await listFileTemplates(input.type)
      return pageOf(slice(names, input), input, presentTemplateName)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/templates/:type/:name',
    summary: 'Get a template for a project',
    access: onProject('read_project'),
    input: z.object({ type, name, ...facts }),
    output: z.union([LicenseText, Template]),
    async handler({ ctx, caller, subject, input }) {
      const { project } = subject
      if (input.type === 'licenses') {
        const filled = { project: input.project ?? project.name, fullname: input.fullname ?? caller.user?.name ?? project.namespace.name }
        return presentLicense(await getLicense(ctx, input.name, filled, 'Template'))
      }
      if (input.type !== 'issues' && input.type !== 'merge_requests')
        return presentTemplate(await getFileTemplate(input.type, input.name, 'Template'))
      const content = await findDescriptionTemplate(ctx, subject, input.type, input.name)
      if (content === null) throw notFound('Template')
      return presentTemplate({ name: input.name, content })
    },
  }),
]
