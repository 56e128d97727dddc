import { z } from 'zod'
import { admin } from '../../access/rules.js'
import { Application, ApplicationWithSecret, presentApplication } from '../../entities/identity/application.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, idPaging, orDefault, rowId, str } from '../../http/params.js'
import { createApplication, listApplications, removeApplication, wordsOf } from '../../services/identity/oauth/applications.js'

/** OAuth applications of the service (CR-30, CR-31). */
export const applications = [
  endpoint({
    method: 'POST',
    path: '/applications',
    summary: 'Create an OAuth application',
    access: admin,
    input: z.object({
      name: documented.title(),
      redirect_uri: str(),
      scopes: str(),
      confidential: orDefault(bool(), true),
      trusted: orDefault(bool(), false),
    }),
    output: ApplicationWithSecret,
    async handler({ ctx, input: { redirect_uri, scopes, ...given } }) {
      const { application, secret } = await createApplication(ctx, null, {
        ...given,
        redirect_uris: wordsOf(redirect_uri),
        scopes: wordsOf(scopes),
      })
      return { ...presentApplication(application), secret }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/applications',
    summary: 'List OAuth applications',
    access: admin,
    input: z.object(idPaging),
    output: z.array(Application),
    handler: async ({ ctx, input }) => pageOf(await listApplications(ctx, input), input, presentApplication).inOrderOfIds(input),
  }),
  endpoint({
    method: 'DELETE',
    path: '/applications/:id',
    summary: 'Delete an OAuth application',
    access: admin,
    input: z.object({ id: rowId() }),
    async handler({ ctx, input }) {
      await removeApplication(ctx, input.id, null)
    },
  }),
]
