import { z } from 'zod'
import { signedIn } from '../../access/rules.js'
import { Namespace, presentNamespace } from '../../entities/identity/namespace.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { idPaging, opt, rowId, searchText } from '../../http/params.js'
import { getNamespace, listNamespaces, namespaceExists } from '../../services/identity/namespaces.js'

/** Namespaces (NS-1 to NS-3). */
export const namespaces = [
  endpoint({
    method: 'GET',
    path: '/namespaces',
    summary: "List the caller's namespaces",
    access: signedIn,
    input: z.object({ search: opt(searchText()), ...idPaging }),
    output: z.array(Namespace),
    async handler({ ctx, caller, input, view }) {
      return pageOf(await listNamespaces(ctx, caller, input), input, (namespace) => presentNamespace(namespace, view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/namespaces/:id',
    summary: 'Get a namespace',
    access: signedIn,
    input: z.object({ id: z.string() }),
    output: Namespace,
    async handler({ ctx, caller, input, view }) {
      return presentNamespace(await getNamespace(ctx, caller, input.id), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/namespaces/:id/exists',
    summary: 'Check whether a namespace exists',
    access: signedIn,
    input: z.object({ id: z.string(), parent_id: opt(rowId()) }),
    output: z.strictObject({ exists: z.boolean(), suggests: z.array(z.string()) }),
    async handler({ ctx, input }) {
      return namespaceExists(ctx, input.id, input.parent_id)
    },
  }),
]
