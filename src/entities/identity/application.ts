import { z } from 'zod'
import type { Application as ApplicationRecord } from '../../services/identity/oauth/applications.js'

export const Application = z
  .strictObject({
    id: z.int(),
    application_id: z.string(),
    application_name: z.string(),
    callback_url: z.string(),
    confidential: z.boolean(),
  })
  .meta({ id: 'Application', description: 'An OAuth application of the service, without its secret.' })

/** The only response that contains the secret (CR-30). */
export const ApplicationWithSecret = z
  .strictObject({ ...Application.shape, secret: z.string() })
  .meta({ id: 'ApplicationWithSecret', description: 'A new OAuth application; its secret is shown only here.' })

export function presentApplication({ id, uid, name, redirect_uris, confidential }: ApplicationRecord): z.infer<typeof Application> {
  return { id, application_id: uid, application_name: name, callback_url: redirect_uris.join('\n'), confidential }
}
