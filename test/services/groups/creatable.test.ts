import { describe, expect, it } from 'vitest'
import { getGroupFor } from '../../../src/access/rules.js'
import { PROJECT_CREATION_LEVELS, SUBGROUP_CREATION_LEVELS } from '../../../src/rules/creation-levels.js'
import { groupsToCreateIn } from '../../../src/services/groups/creatable.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aUser } from '../../support/factories.js'

const t = testApp()

describe('the groups to create in', () => {
  it('are those in which the caller has the ability, also by a group above (GR-50, GR-51, WB-150)', async () => {
    const [owner, who, admin] = [await aUser(t.ctx), await aUser(t.ctx), await anAdmin(t.ctx)]
    const groups: number[] = []
    for (const role of ['guest', 'developer', 'maintainer', 'owner'] as const)
      for (const project_creation_level of PROJECT_CREATION_LEVELS)
        for (const subgroup_creation_level of SUBGROUP_CREATION_LEVELS) {
          const levels = { project_creation_level, subgroup_creation_level }
          const above = await aGroup(t.ctx, { creator: owner, visibility: 'public', [role]: who, ...levels })
          const below = await aGroup(t.ctx, { creator: owner, visibility: 'public', parent_id: above.id, ...levels })
          groups.push(above.id, below.id)
        }
    // one that waits for its removal is not among them
    const removed = await aGroup(t.ctx, { creator: who })
    await t.api('delete', removed.path, who).expect(204)
    for (const { caller } of [who, admin])
      for (const [what, ability] of [
        ['project', 'create_project'],
        ['subgroup', 'create_subgroup'],
      ] as const) {
        const able: number[] = []
        for (const id of groups) if ((await getGroupFor(t.ctx, caller, String(id))).can(ability)) able.push(id)
        const offered = (await groupsToCreateIn(t.ctx, caller, what)).map(({ id }) => id)
        expect(able.length).toBeGreaterThan(5)
        expect(offered.sort((a, b) => a - b)).toEqual(able)
      }
  })
})
