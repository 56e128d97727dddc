import { z } from 'zod'
import { adminFirst, adminOnProject, onProjectSignedIn } from '../../access/rules.js'
import { ProjectExport, ProjectImport, presentProjectExport, presentProjectImport } from '../../entities/projects/project.js'
import { refused } from '../../failures.js'
import { downloadOf } from '../../http/content.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { bool, file, opt, orDefault, str, textMap } from '../../http/params.js'
import { exportStatus, openExport, startExport } from '../../services/projects/archives/export.js'
import { openSnapshot } from '../../services/projects/archives/snapshot.js'
import { createProject } from '../../services/projects/create.js'
import { loadProject } from '../../services/projects/load.js'
import { transferTarget } from '../../services/projects/transfer.js'

const access = onProjectSignedIn('manage_project')

/** Projects as archives (EX-1 to EX-7). */
export const archives = [
  endpoint({
    method: 'POST',
    path: '/projects/:id/export',
    summary: 'Make an archive of a project',
    description: 'In the background; it can be downloaded for a day.',
    access,
    status: 202,
    input: z.object({ upload: opt(textMap()), description: opt(str()) }),
    async handler({ ctx, caller, subject, input }) {
      const name = (['upload', 'description'] as const).find((each) => input[each] !== undefined)
      if (name) throw refused(`${name} is not supported: download the archive`)
      await startExport(ctx, caller, subject)
      return new Answer(202, { message: '202 Accepted' })
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/export',
    summary: 'Get the state of the archive of a project',
    polled: true,
    access,
    output: ProjectExport,
    handler: async ({ ctx, caller, subject, view }) =>
      presentProjectExport(await loadProject(ctx, caller.user, subject.project.id), await exportStatus(ctx, subject), view),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/export/download',
    summary: 'Download the archive of a project',
    raw: ['application/gzip'],
    answers: [304],
    access,
    scope: 'api',
    handler: async ({ ctx, subject }) => downloadOf(await openExport(ctx, subject), 'application/gzip'),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/snapshot',
    summary: 'Download the repository of a project',
    description: 'The bare repository, or that of the wiki, as it is on disk.',
    raw: ['application/x-tar'],
    answers: [304, 409],
    access: adminOnProject,
    scope: 'api',
    input: z.object({ wiki: orDefault(bool(), false) }),
    handler: async ({ ctx, subject, input }) => downloadOf(await openSnapshot(ctx, subject.id, input), 'application/x-tar'),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/import',
    summary: 'Make a project of an archive',
    description: 'In the background. Only administrators: an archive has rows as they are to be stored.',
    access: adminFirst,
    largeBody: true,
    input: z.object({
      file: file(),
      path: documented.projectPath(),
      name: opt(documented.projectName()),
      namespace: opt(str()),
      overwrite: opt(bool()),
      override_params: opt(textMap()),
    }),
    output: ProjectImport,
    async handler({ ctx, caller, input: { file, path, name = path, namespace, overwrite, override_params }, view }) {
      if (overwrite) throw refused('overwrite is not supported: delete the other project first')
      if (override_params !== undefined) throw refused('override_params is not supported: change the project afterwards')
      const namespace_id = namespace === undefined ? undefined : (await transferTarget(ctx, caller, namespace)).id
      const id = await createProject(ctx, caller, { name, path, namespace_id, archive: file.data })
      return new Answer(201, presentProjectImport(await loadProject(ctx, caller.user, id), view))
    },
  }),
]
