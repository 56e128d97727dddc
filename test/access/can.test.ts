import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GROUP_ROLES, type GroupAbility } from '../../src/access/abilities/group.js'
import { PROJECT_PROHIBITIONS, PROJECT_ROLES, type ProjectAbility } from '../../src/access/abilities/project.js'
import {
  canGroup,
  canProject,
  effectiveLevel,
  INTERNAL,
  isFeatureOpen,
  LEVELS,
  PRIVATE,
  type ProjectPolicyInput,
  PUBLIC,
  seesGroup,
  seesProject,
} from '../../src/access/can.js'

const user = { admin: false, external: false }
const external = { admin: false, external: true }
const admin = { admin: true, external: false }

const on = (
  who: ProjectPolicyInput['user'],
  visibility: number,
  level = 0,
  more: Partial<ProjectPolicyInput['project']> = {},
): ProjectPolicyInput => ({
  user: who,
  level,
  project: {
    visibility,
    archived: false,
    marked_for_deletion_at: null,
    repository_access_level: 20,
    forking_access_level: 20,
    builds_access_level: 20,
    operations_access_level: 20,
    analytics_access_level: 20,
    issues_access_level: 20,
    merge_requests_access_level: 20,
    wiki_access_level: 20,
    snippets_access_level: 20,
    packages_enabled: null,
    container_registry_enabled: true,
    public_jobs: false,
    ...more,
  },
})

describe('who sees a project (G-65, G-66, AC-6, section 5.3)', () => {
  it.each([
    ['public: anonymous', null, PUBLIC, 0, true],
    ['public: external', external, PUBLIC, 0, true],
    ['internal: anonymous', null, INTERNAL, 0, false],
    ['internal: user', user, INTERNAL, 0, true],
    ['internal: external', external, INTERNAL, 0, false],
    ['internal: external member', external, INTERNAL, 10, true],
    ['private: anonymous', null, PRIVATE, 0, false],
    ['private: user', user, PRIVATE, 0, false],
    ['private: guest', user, PRIVATE, 10, true],
    ['private: administrator', admin, PRIVATE, 0, true],
  ] as const)('%s', (_, who, visibility, level, seen) => {
    expect(seesProject(on(who, visibility, level))).toBe(seen)
  })
})

/** The rows of section 5.1 that have an ability, for a private project: the level from which on it is held. */
const FROM: [ProjectAbility, number][] = [
  ['read_project', 10],
  ['read_member', 10],
  ['star', 10],
  ['upload_file', 10],
  ['read_wiki', 10],
  ['read_snippet', 10],
  ['create_snippet', 20],
  ['download_code', 20],
  ['read_package', 20],
  ['read_image', 20],
  ['create_package', 30],
  ['create_image', 30],
  ['destroy_image', 30],
  ['read_fetches', 30],
  ['destroy_package', 40],
  ['admin_package', 40],
  ['destroy_image_repository', 40],
  ['comment_on_commit', 20],
  ['fork', 20],
  ['read_statistics', 20],
  ['read_pipeline', 20],
  ['read_environment', 20],
  ['read_contributors', 20],
  ['read_issue', 10],
  ['create_issue', 10],
  ['create_note', 10],
  ['award_emoji', 10],
  ['resolve_thread', 30],
  ['manage_notes', 40],
  ['backdate_note', 50],
  ['update_issue', 20],
  ['manage_issue', 20],
  ['move_issue', 20],
  ['read_label', 10],
  ['read_milestone', 10],
  ['manage_label', 20],
  ['manage_milestone', 30],
  ['read_own_merge_request', 10],
  ['propose_merge_request', 10],
  ['read_merge_request', 20],
  ['create_merge_request', 30],
  ['update_merge_request', 30],
  ['approve_merge_request', 30],
  ['manage_merge_request', 30],
  ['accept_merge_request', 30],
  ['destroy_merge_request', 50],
  ['push_code', 30],
  ['create_branch', 30],
  ['create_tag', 30],
  ['create_commit_status', 30],
  ['cancel_pipeline', 30],
  ['manage_release', 30],
  ['write_wiki', 30],
  ['delete_wiki_page', 40],
  ['manage_snippets', 40],
  ['manage_variables', 40],
  ['manage_hooks', 40],
  ['manage_mirrors', 40],
  ['manage_project', 40],
  ['manage_members', 40],
  ['manage_protection', 40],
  ['manage_deploy_keys', 40],
  ['manage_shares', 40],
  ['link_fork', 40],
  ['force_unlock', 40],
  ['delete_tag', 40],
  ['delete_protected_branch', 40],
  ['rename_project', 50],
  ['change_visibility', 50],
  ['archive_project', 50],
  ['transfer_project', 50],
  ['unlink_fork', 50],
  ['remove_project', 50],
  ['create_pipeline', 30],
  ['update_build', 30],
  ['manage_runners', 40],
  ['manage_environment', 30],
  ['delete_deployment', 40],
  ['read_feature_flag', 30],
  ['manage_feature_flag', 30],
  ['manage_feature_flag_client', 40],
  ['admin_pipeline', 40],
  ['delete_pipeline', 50],
  ['admin_issue', 50],
]

describe('what a role may on a project (section 5.1)', () => {
  it.each(FROM)('%s from level %i on, administrators always (G-64, AC-1, AC-4)', (ability, from) => {
    for (const level of [10, 20, 30, 40, 50]) expect([level, canProject(on(user, PRIVATE, level), ability)]).toEqual([level, level >= from])
    expect(canProject(on(user, PRIVATE), ability)).toBe(false)
    expect(canProject(on(null, PRIVATE), ability)).toBe(false)
    expect(canProject(on(admin, PRIVATE), ability)).toBe(true)
  })

  it('the table names every ability', () => {
    const named = new Set<string>(FROM.map(([ability]) => ability))
    const all = Object.values(PROJECT_ROLES).flat() as string[]
    expect(all.filter((ability) => !named.has(ability) && !ability.includes('_if_'))).toEqual(['request_access'])
  })

  it('on public projects, a stranger downloads, stars and forks, and anonymous callers only read (AC-7)', () => {
    for (const [who, visibility] of [
      [user, PUBLIC],
      [user, INTERNAL],
      [external, PUBLIC],
    ] as const)
      for (const [ability, held] of [
        ['download_code', true],
        ['comment_on_commit', true],
        ['fork', true],
        ['star', true],
        ['read_member', true],
        ['push_code', false],
        ['read_statistics', false],
      ] as const)
        expect([visibility, ability, canProject(on(who, visibility), ability)]).toEqual([visibility, ability, held])
    for (const [ability, held] of [
      ['read_project', true],
      ['download_code', true],
      ['fork', false],
      ['star', false],
      ['read_member', false],
    ] as const)
      expect([ability, canProject(on(null, PUBLIC), ability)]).toEqual([ability, held])
    expect(canProject(on(external, INTERNAL, 10), 'download_code')).toBe(false)
    expect(canProject(on(user, INTERNAL, 10), 'download_code')).toBe(true)
  })

  it('an archived project cannot be written to; everything else stays (AC-11, G-69)', () => {
    const archived = (who: ProjectPolicyInput['user'], ability: ProjectAbility) => canProject(on(who, PUBLIC, 50, { archived: true }), ability)
    for (const [ability] of FROM) {
      const forbidden = (PROJECT_PROHIBITIONS.archived as readonly string[]).includes(ability)
      expect([ability, archived(user, ability), archived(admin, ability)]).toEqual([ability, !forbidden, !forbidden])
    }
    for (const ability of ['push_code', 'create_branch', 'create_tag', 'create_commit_status'] as const) expect(archived(admin, ability)).toBe(false)
    for (const ability of ['read_project', 'download_code', 'star', 'fork', 'archive_project', 'remove_project', 'manage_project'] as const)
      expect(archived(user, ability)).toBe(true)
  })

  it('the switch of the repository closes code to those below it (AC-10, G-68)', () => {
    const code = (who: ProjectPolicyInput['user'], level: number, repository_access_level: number) =>
      canProject(on(who, PUBLIC, level, { repository_access_level }), 'download_code')
    expect([code(user, 0, 20), code(user, 0, 10), code(user, 20, 10), code(admin, 0, 10), code(null, 0, 10)]).toEqual([
      true,
      false,
      true,
      true,
      false,
    ])
    expect([code(user, 50, 0), code(admin, 0, 0), code(null, 0, 0)]).toEqual([false, false, false])
    expect(canProject(on(user, PUBLIC, 50, { repository_access_level: 0 }), 'manage_project')).toBe(true)
  })

  it('section 5.1 note 3: a guest reads pipelines where the project is open to them, or its jobs are public', () => {
    const read = (who: ProjectPolicyInput['user'], visibility: number, level: number, public_jobs: boolean) =>
      canProject(on(who, visibility, level, { public_jobs }), 'read_pipeline')
    expect([read(user, PRIVATE, 10, true), read(user, PRIVATE, 10, false), read(user, PRIVATE, 0, true)]).toEqual([true, false, false])
    expect([read(user, PUBLIC, 0, false), read(user, INTERNAL, 10, false), read(external, INTERNAL, 10, false)]).toEqual([true, true, false])
    expect([read(external, INTERNAL, 10, true), read(null, PUBLIC, 0, true)]).toEqual([true, false])
  })

  it('the switches of jobs and of the repository close pipelines; that of jobs leaves statuses alone (AC-10, G-68)', () => {
    for (const [more, level, read, cancel] of [
      [{ builds_access_level: 0 }, 50, false, false],
      [{ builds_access_level: 10 }, 0, false, false],
      [{ builds_access_level: 10 }, 30, true, true],
      [{ repository_access_level: 0 }, 50, false, false],
    ] as const)
      expect([
        more,
        canProject(on(user, PUBLIC, level, more), 'read_pipeline'),
        canProject(on(user, PUBLIC, level, more), 'cancel_pipeline'),
      ]).toEqual([more, read, cancel])
    expect(canProject(on(user, PUBLIC, 30, { builds_access_level: 0 }), 'create_commit_status')).toBe(true)
    expect(canProject(on(user, PUBLIC, 50, { repository_access_level: 0 }), 'create_commit_status')).toBe(false)
  })

  it('the switches of issues and of merge requests close labels and milestones together (AC-79)', () => {
    for (const [who, level, more, held] of [
      [user, 50, { issues_access_level: 0, merge_requests_access_level: 0 }, false],
      [user, 50, { issues_access_level: 0, repository_access_level: 0 }, false],
      [user, 50, { issues_access_level: 0 }, true],
      [user, 50, { merge_requests_access_level: 0, repository_access_level: 0 }, true],
      [user, 0, { issues_access_level: 10, merge_requests_access_level: 10 }, false],
      [user, 10, { issues_access_level: 10, merge_requests_access_level: 10 }, true],
      [admin, 0, { issues_access_level: 0, merge_requests_access_level: 0 }, false],
      [null, 0, { issues_access_level: 10, repository_access_level: 10 }, false],
    ] as const)
      for (const ability of ['read_label', 'read_milestone'] as const)
        expect([level, more, canProject(on(who, PUBLIC, level, more), ability)]).toEqual([level, more, held])
  })

  it('isFeatureOpen (AC-10)', () => {
    for (const [level, who, mine, held] of [
      [20, null, 0, true],
      [10, null, 0, false],
      [10, user, 0, false],
      [10, user, 10, true],
      [10, admin, 0, true],
      [0, admin, 50, false],
    ] as const)
      expect(isFeatureOpen(level, { user: who, level: mine })).toBe(held)
  })

  it('a higher level never loses an ability, and hidden subjects allow none', () => {
    const abilities = fc.constantFrom(...FROM.map(([ability]) => ability))
    const standing = fc.record({
      who: fc.constantFrom(null, user, external, admin),
      visibility: fc.constantFrom(0, 10, 20),
      level: fc.constantFrom(0, 10, 20, 30, 40, 50),
      archived: fc.boolean(),
      repository_access_level: fc.constantFrom(0, 10, 20),
      forking_access_level: fc.constantFrom(0, 10, 20),
      builds_access_level: fc.constantFrom(0, 10, 20),
      public_jobs: fc.boolean(),
    })
    fc.assert(
      fc.property(standing, abilities, fc.constantFrom(0, 10, 20, 30, 40, 50), ({ who, visibility, level, ...more }, ability, other) => {
        const low = on(who, visibility, who ? Math.min(level, other) : 0, more)
        const high = on(who, visibility, who ? Math.max(level, other) : 0, more)
        if (canProject(low, ability)) expect(canProject(high, ability)).toBe(true)
        if (!seesProject(low)) expect(canProject(low, ability)).toBe(false)
      }),
    )
  })
})

describe('groups (G-67, G-74, AC-16, section 5.2)', () => {
  const of = (who: ProjectPolicyInput['user'], visibility: number, level = 0, seesProjectIn = false) => ({
    user: who,
    level,
    group: { visibility, marked_for_deletion_at: null, project_creation_level: 'maintainer' as const, subgroup_creation_level: 'owner' as const },
    seesProjectIn,
  })
  it.each([
    ['public: anonymous', of(null, PUBLIC), true],
    ['internal: anonymous', of(null, INTERNAL), false],
    ['internal: user', of(user, INTERNAL), true],
    ['internal: external', of(external, INTERNAL), false],
    ['private: member', of(user, PRIVATE, 10), true],
    ['private: stranger', of(user, PRIVATE), false],
    ['private: stranger who sees a project in it', of(user, PRIVATE, 0, true), true],
    ['private: anonymous who sees a public project in it', of(null, PRIVATE, 0, true), true],
    ['private: administrator', of(admin, PRIVATE), true],
  ])('%s', (_, standing, seen) => {
    expect(seesGroup(standing)).toBe(seen)
    expect(canGroup(standing, 'read_group')).toBe(seen)
  })

  it.each([
    ['create_project', 40],
    ['create_subgroup', 50],
    ['manage_group', 50],
    ['manage_members', 50],
    ['manage_hooks', 50],
    ['remove_group', 50],
  ] as [GroupAbility, number][])('%s from level %i on', (ability, from) => {
    for (const level of [0, 10, 20, 30, 40, 50]) expect([level, canGroup(of(user, PUBLIC, level), ability)]).toEqual([level, level >= from])
    expect(canGroup(of(admin, PRIVATE), ability)).toBe(true)
    expect(canGroup(of(null, PUBLIC), ability)).toBe(false)
    expect(Object.values(GROUP_ROLES).flat()).toContain(ability)
  })

  it('administrators act with level 50 (AC-4)', () => {
    expect(effectiveLevel({ user: admin, level: 0 })).toBe(LEVELS.owner)
    expect(effectiveLevel({ user, level: 30 })).toBe(30)
  })
})
