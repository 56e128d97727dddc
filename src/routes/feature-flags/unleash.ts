import { z } from 'zod'
import { anyone } from '../../access/rules.js'
import { ClientFeatures, presentClientFeatures } from '../../entities/projects/feature-flag.js'
import { Answer, type Endpoint, endpoint } from '../../http/endpoint.js'
import { opt, rowId, str } from '../../http/params.js'
import { checkFlagClient, flagsForClient } from '../../services/projects/feature-flags/clients.js'

const AT = '/feature_flags/unleash/:project_id'
const INSTANCE = 'unleash-instanceid'
const APPLICATION = 'unleash-appname'
const instance = { project_id: rowId(), instance_id: opt(str()) }

const features = (path: string): Endpoint =>
  endpoint({
    method: 'GET',
    path,
    summary: 'Get the feature flags for a client of Unleash',
    description: 'With the token of the project in `UNLEASH-INSTANCEID`, and the environment in `UNLEASH-APPNAME`.',
    access: anyone,
    input: z.object({ ...instance, app_name: opt(str()) }),
    output: ClientFeatures,
    answers: [401],
    async handler({ ctx, input: { project_id: project, instance_id, app_name }, header }) {
      await checkFlagClient(ctx, { project, instance: header(INSTANCE) ?? instance_id })
      const environment = header(APPLICATION) ?? app_name
      return presentClientFeatures(environment ? await flagsForClient(ctx, project, environment) : [])
    },
  })

/** What clients say of themselves and of what they count, which nobody reads here (FF-12). */
const taken = (method: 'GET' | 'POST', path: string, summary: string): Endpoint =>
  endpoint({
    method,
    path,
    summary,
    description: 'Answers 200 to a client with the token of the project; nothing of it is kept.',
    access: anyone,
    input: z.object(instance),
    status: 200,
    answers: [401],
    async handler({ ctx, input: { project_id: project, instance_id }, header }) {
      await checkFlagClient(ctx, { project, instance: header(INSTANCE) ?? instance_id })
      return new Answer(200)
    },
  })

/** What clients of Unleash call (FF-10 to FF-12). */
export const unleash = [
  taken('GET', AT, 'Check the token of a client of Unleash'),
  features(`${AT}/features`),
  features(`${AT}/client/features`),
  taken('POST', `${AT}/client/register`, 'Register a client of Unleash'),
  taken('POST', `${AT}/client/metrics`, 'Take what a client of Unleash has counted'),
]
