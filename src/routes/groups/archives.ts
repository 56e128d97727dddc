import { z } from 'zod'
import { onGroupSignedIn, signedIn } from '../../access/rules.js'
import { downloadOf } from '../../http/content.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint } from '../../http/endpoint.js'
import { file, opt, rowId } from '../../http/params.js'
import { openGroupExport, startGroupExport } from '../../services/imports/group-archives/export.js'
import { importGroup } from '../../services/imports/group-archives/import.js'

const access = onGroupSignedIn('manage_group')
const accepted = () => new Answer(202, { message: '202 Accepted' })

/** Groups as archives (EX-68, EX-69). */
export const groupArchives = [
  endpoint({
    method: 'POST',
    path: '/groups/:id/export',
    summary: 'Make an archive of a group',
    description: 'Of it and the groups below it, without projects. In the background; it can be downloaded for a day.',
    access,
    status: 202,
    async handler({ ctx, caller, subject }) {
      await startGroupExport(ctx, caller, subject)
      return accepted()
    },
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/export/download',
    summary: 'Download the archive of a group',
    raw: ['application/gzip'],
    answers: [304],
    access,
    scope: 'api',
    handler: async ({ ctx, subject }) => downloadOf(await openGroupExport(ctx, subject), 'application/gzip'),
  }),
  endpoint({
    method: 'POST',
    path: '/groups/import',
    summary: 'Make a group of an archive',
    description: 'The group is there at once, and filled in the background; what is wrong with the archive is in the audit log.',
    access: signedIn,
    largeBody: true,
    status: 202,
    input: z.object({ file: file(), path: documented.namespacePath(), name: documented.groupName(), parent_id: opt(rowId()) }),
    async handler({ ctx, caller, input: { file, ...given } }) {
      await importGroup(ctx, caller, given, file.data)
      return accepted()
    },
  }),
]
