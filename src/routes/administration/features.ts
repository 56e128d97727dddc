import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import { adminFirst, getGroupFor, getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { InstanceFeature, presentInstanceFeature } from '../../entities/instance-feature.js'
import { invalidInput, nullOnFailure, refused } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, commaList, oneOf, opt, orDefault, paging, str } from '../../http/params.js'
import { featureNameFault } from '../../rules/features/instance-features.js'
import { listFeatures, removeFeature, setFeature } from '../../services/core/instance-features.js'
import { slice } from '../../services/core/page.js'
import { findUserByName } from '../../services/identity/users.js'

/** Users, projects and groups that one call names. */
const MAX_TARGETS = 20

interface Targets {
  user?: string[] | undefined
  project?: string[] | undefined
  group?: string[] | undefined
}

/** Those of a call, as gates name them; 400 if one is not there. */
async function actorsOf(ctx: Context, caller: SignedIn, { user = [], project = [], group = [] }: Targets): Promise<string[]> {
  if (user.length + project.length + group.length > MAX_TARGETS) throw refused(`400 Bad request - at most ${MAX_TARGETS} can be named at once`)
  const named = async (names: string[], find: (name: string) => Promise<string | null | undefined>) => {
    const found: string[] = []
    for (const name of names) found.push((await find(name)) ?? missing(name))
    return found
  }
  return [
    ...(await named(user, async (name) => idOf('User', await findUserByName(ctx, name)))),
    ...(await named(project, async (path) => idOf('Project', (await nullOnFailure(getProjectFor(ctx, caller, path)))?.project))),
    ...(await named(group, async (path) => idOf('Group', (await nullOnFailure(getGroupFor(ctx, caller, path)))?.group))),
  ]
}

const idOf = (kind: string, found: { id: number } | null | undefined) => found && `${kind}:${found.id}`

function missing(name: string): never {
  throw refused(`400 Bad request - ${name} is not found!`)
}

/** `true`, `false`, or a percentage. */
function givenValue(text: string): boolean | number {
  if (text === 'true' || text === '100') return true
  if (text === 'false' || text === '0') return false
  if (!/^\d{1,3}$/.test(text)) throw invalidInput('value is invalid')
  return Number(text)
}

/** Features of the service that administrators switch (FF-50 to FF-52). */
export const instanceFeatures = [
  endpoint({
    method: 'GET',
    path: '/features',
    summary: 'List the features that were switched',
    access: adminFirst,
    input: z.object(paging),
    output: z.array(InstanceFeature),
    handler: async ({ ctx, input }) => pageOf(slice(await listFeatures(ctx), input), input, presentInstanceFeature),
  }),
  endpoint({
    method: 'POST',
    path: '/features/:name',
    summary: 'Switch a feature of the service',
    description: 'On, off, or on for a percentage, or for those who are named. A name that is none of the service is kept, and changes nothing.',
    access: adminFirst,
    input: z.object({
      name: str(),
      value: str(),
      key: orDefault(oneOf(['percentage_of_time', 'percentage_of_actors']), 'percentage_of_time'),
      user: opt(commaList()),
      project: opt(commaList()),
      group: opt(commaList()),
      force: opt(bool()),
    }),
    output: InstanceFeature,
    async handler({ ctx, caller, input: { name, value, key, ...targets } }) {
      const fault = featureNameFault(name)
      if (fault) throw invalidInput(`name ${fault}`)
      const given = givenValue(value)
      return presentInstanceFeature(await setFeature(ctx, name, { value: given, key, actors: await actorsOf(ctx, caller, targets) }))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/features/:name',
    summary: 'Forget how a feature was switched',
    access: adminFirst,
    input: z.object({ name: str() }),
    answers: [404],
    handler: ({ ctx, input }) => removeFeature(ctx, input.name),
  }),
]
