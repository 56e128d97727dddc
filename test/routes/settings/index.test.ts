import { asc, eq } from 'drizzle-orm'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createContext } from '../../../src/cli/create-context.js'
import { openDatabase } from '../../../src/db/client.js'
import { applicationSettings, auditEvents, users } from '../../../src/db/schema/index.js'
import { readSettings } from '../../../src/services/core/settings.js'
import { testApp } from '../../support/app.js'
import { aGroup, anAdmin, aUser, type TestUser, unique } from '../../support/factories.js'

const t = testApp()
let admin: TestUser
let user: TestUser

beforeAll(async () => {
  admin = await anAdmin(t.ctx)
  user = await aUser(t.ctx)
})
afterEach(async () => {
  await t.ctx.db.write.delete(applicationSettings)
  t.ctx.caches.settings.invalidate()
})

type Body = Record<string, unknown>
const get = async () => (await t.api('get', '/application/settings', admin).expect(200)).body as Body
/** Settings without which a reader would have to guess: neither blank nor negative. */
const NATURAL_NUMBERS = [
  'default_projects_limit',
  'max_pages_size',
  'metrics_method_call_threshold',
  'metrics_packet_size',
  'metrics_pool_size',
  'metrics_port',
  'metrics_sample_interval',
  'metrics_timeout',
  'two_factor_grace_period',
  'unique_ips_limit_per_user',
  'unique_ips_limit_time_window',
]
const put = (given: object, caller: TestUser | null = admin) => t.api('put', '/application/settings', caller).send(given)
const stored = async () => (await t.ctx.db.read.select().from(applicationSettings))[0]?.values

/** The contract's table in its order, with the defaults of chapter 11.3 (AS-20 to AS-70). */
const DEFAULTS: [string, unknown][] = [
  ['admin_notification_email', null],
  ['after_sign_out_path', null],
  ['after_sign_up_text', null],
  ['spamfilter_api_key', null],
  ['spamfilter_enabled', false],
  ['circuitbreaker_access_retries', 3],
  ['circuitbreaker_check_interval', 1],
  ['circuitbreaker_failure_count_threshold', 3],
  ['circuitbreaker_failure_reset_time', 1800],
  ['circuitbreaker_storage_timeout', 15],
  ['clientside_errtracker_dsn', null],
  ['clientside_errtracker_enabled', false],
  ['container_registry_token_expire_delay', 5],
  ['default_artifacts_expire_in', '30 days'],
  ['default_branch_protection', 2],
  ['default_group_visibility', 'private'],
  ['default_project_visibility', 'private'],
  ['default_projects_limit', 100000],
  ['default_snippet_visibility', 'private'],
  ['disabled_oauth_sign_in_sources', []],
  ['domain_blacklist_enabled', false],
  ['domain_blacklist', []],
  ['domain_whitelist', null],
  ['dsa_key_restriction', 0],
  ['ecdsa_key_restriction', 0],
  ['ed25519_key_restriction', 0],
  ['rsa_key_restriction', 0],
  ['email_author_in_body', false],
  ['enabled_git_access_protocol', null],
  ['avatarsvc_enabled', true],
  ['help_page_hide_commercial_content', false],
  ['help_page_support_url', null],
  ['home_page_url', null],
  ['housekeeping_bitmaps_enabled', true],
  ['housekeeping_enabled', true],
  ['housekeeping_full_repack_period', 50],
  ['housekeeping_gc_period', 200],
  ['housekeeping_incremental_repack_period', 10],
  ['html_emails_enabled', true],
  ['import_sources', ['git']],
  ['webide_enabled', false],
  ['webide_url', null],
  ['max_artifacts_size', 100],
  ['max_attachment_size', 10],
  ['max_pages_size', 100],
  ['metrics_enabled', false],
  ['metrics_host', 'localhost'],
  ['metrics_method_call_threshold', 10],
  ['metrics_packet_size', 1],
  ['metrics_pool_size', 16],
  ['metrics_port', 8089],
  ['metrics_sample_interval', 15],
  ['metrics_timeout', 10],
  ['password_authentication_enabled_for_web', true],
  ['password_authentication_enabled_for_git', true],
  ['performance_bar_allowed_group_id', null],
  ['performance_bar_enabled', false],
  ['diagram_enabled', false],
  ['diagram_url', null],
  ['polling_interval_multiplier', 1],
  ['project_export_enabled', true],
  ['monitoring_metrics_enabled', false],
  ['captcha_enabled', false],
  ['captcha_private_key', null],
  ['captcha_site_key', null],
  ['repository_checks_enabled', true],
  ['repository_storages', ['default']],
  ['require_two_factor_authentication', false],
  ['restricted_visibility_levels', null],
  ['send_user_confirmation_email', false],
  ['errtracker_dsn', null],
  ['errtracker_enabled', false],
  ['session_expire_delay', 10080],
  ['shared_runners_enabled', true],
  ['shared_runners_text', null],
  ['jobqueue_throttling_enabled', false],
  ['jobqueue_throttling_factor', null],
  ['jobqueue_throttling_queues', []],
  ['sign_in_text', null],
  ['signup_enabled', true],
  ['terminal_max_session_time', 0],
  ['two_factor_grace_period', 48],
  ['unique_ips_limit_enabled', false],
  ['unique_ips_limit_per_user', 10],
  ['unique_ips_limit_time_window', 3600],
  ['usage_ping_enabled', true],
  ['user_default_external', false],
  ['user_oauth_applications', true],
  ['version_check_enabled', true],
  // AS-74: beside the contract's
  ['repository_size_limit', 0],
  ['user_uploads_size_limit', 0],
  ['project_uploads_size_limit', 0],
  ['generic_packages_size_limit', 5120],
  ['maven_packages_size_limit', 3072],
  ['npm_packages_size_limit', 500],
  ['nuget_packages_size_limit', 500],
  ['pypi_packages_size_limit', 3072],
  ['project_packages_size_limit', 0],
  ['lfs_object_size_limit', 5120],
  ['project_lfs_size_limit', 0],
  ['lfs_pointer_check_enabled', true],
  // AS-75
  ['deletion_delay_days', 7],
  // US-75
  ['require_admin_approval_after_user_signup', true],
  // AS-77
  ['external_images', 'proxy'],
  ['external_image_hosts', []],
  ['asset_proxy_allowlist', []],
  ['enforce_ci_inbound_job_token_scope_enabled', false],
  ['mirror_available', true],
  // AS-80
  ['kroki_enabled', false],
  ['kroki_url', null],
  ['help_page_text', null],
  ['maintenance_mode', false],
  ['maintenance_mode_message', null],
  ['throttle_unauthenticated_enabled', false],
  ['throttle_unauthenticated_requests_per_period', 3600],
  ['throttle_unauthenticated_period_in_seconds', 3600],
  ['throttle_authenticated_api_enabled', false],
  ['throttle_authenticated_api_requests_per_period', 7200],
  ['throttle_authenticated_api_period_in_seconds', 3600],
  ['throttle_authenticated_web_enabled', false],
  ['throttle_authenticated_web_requests_per_period', 7200],
  ['throttle_authenticated_web_period_in_seconds', 3600],
]
const NAMES = DEFAULTS.map(([name]) => name)

describe('GET /application/settings (AS-1, AS-2)', () => {
  it('AS-20..AS-70: every attribute of the contract, with its default', async () => {
    const [first] = await t.ctx.db.write.select({ created_at: users.created_at }).from(users).orderBy(asc(users.id)).limit(1)
    const { id, created_at, updated_at, ...attributes } = await get()
    expect({ id, created_at, updated_at }).toEqual({ id: 1, created_at: first?.created_at.toISOString(), updated_at: created_at })
    expect(attributes).toEqual(Object.fromEntries(DEFAULTS))
    expect(Object.keys(attributes)).toEqual(NAMES)
  })

  it('for administrators, before the parameters (AS-1, SEC-136)', async () => {
    for (const given of [{}, { signup_enabled: 'perhaps' }]) {
      await put(given, null).expect(401, { message: '401 Unauthorized' })
      await put(given, user).expect(403, { message: '403 Forbidden' })
    }
    await t.api('get', '/application/settings').expect(401, { message: '401 Unauthorized' })
    await t.api('get', '/application/settings', user).expect(403, { message: '403 Forbidden' })
    expect(await stored()).toBeUndefined()
  })
})

describe('PUT /application/settings: stored values (AS-3 to AS-9)', () => {
  it('stores only what is sent, and updates the time on a change (AS-3)', async () => {
    const before = await get()
    const { body } = await put({ signup_enabled: false, sign_in_text: 'Hello', session_expire_delay: '20' }).expect(200)
    expect(body).toEqual({ ...before, signup_enabled: false, sign_in_text: 'Hello', session_expire_delay: 20, updated_at: expect.any(String) })
    expect(await get()).toEqual(body)
    const again = (await put({ sign_in_text: 'Hello' }).expect(200)).body as Body
    expect(again['updated_at']).toBe((body as Body)['updated_at'])
    expect((await put({ sign_in_text: 'Bye' }).expect(200)).body).not.toMatchObject({ updated_at: again['updated_at'] })
  })

  it('former names of an attribute change nothing beside one it knows (AS-73)', async () => {
    const before = await get()
    const sent = { signin_enabled: false, password_authentication_enabled: false, sign_in_text: 'AS-73' }
    expect((await put(sent).expect(200)).body).toEqual({ ...before, sign_in_text: 'AS-73', updated_at: expect.any(String) })
    expect(await get()).not.toHaveProperty('signin_enabled')
  })

  it('needs one attribute it knows, and names those it does not know (AS-4, AS-73)', async () => {
    const error = `${NAMES.join(', ')} are missing, at least one parameter must be provided`
    await put({}).expect(400, { error })
    await put({ signin_enabled: true, password_authentication_enabled: true, id: 2 }).expect(400, {
      error: `no such setting: signin_enabled, password_authentication_enabled, id; ${error}`,
    })
  })

  it.each([
    [{ signup_enabled: 'perhaps' }, 'signup_enabled is invalid'],
    [{ session_expire_delay: 'long' }, 'session_expire_delay is invalid'],
    [{ session_expire_delay: 1.5 }, 'session_expire_delay is invalid'],
    [{ polling_interval_multiplier: 'x' }, 'polling_interval_multiplier is invalid'],
    [{ default_project_visibility: 'secret' }, 'default_project_visibility does not have a valid value'],
    [{ default_project_visibility: '' }, 'default_project_visibility does not have a valid value'],
    [{ default_branch_protection: 3 }, 'default_branch_protection does not have a valid value'],
    [{ default_branch_protection: 'x' }, 'default_branch_protection is invalid, default_branch_protection does not have a valid value'],
    [{ rsa_key_restriction: -2 }, 'rsa_key_restriction does not have a valid value'],
    [{ ed25519_key_restriction: 25.6 }, 'ed25519_key_restriction is invalid, ed25519_key_restriction does not have a valid value'],
    [{ enabled_git_access_protocol: 'git' }, 'enabled_git_access_protocol does not have a valid value'],
    [{ import_sources: ['git', 'svn'] }, 'import_sources does not have a valid value'],
    [{ sign_in_text: { a: 1 } }, 'sign_in_text is invalid'],
    [{ domain_whitelist: { a: 1 } }, 'domain_whitelist is invalid'],
    [{ signup_enabled: 'x', session_expire_delay: 'y' }, 'session_expire_delay is invalid, signup_enabled is invalid'],
  ])('%o: %s (AS-5, AS-71)', async (given, error) => {
    await put({ sign_in_text: 'kept out', ...given }).expect(400, { error })
    expect(await stored()).toBeUndefined()
  })

  it.each(NATURAL_NUMBERS)('11.3: %s is neither negative nor blank (AS-6)', async (name) => {
    await put({ [name]: -1 }).expect(400, { message: { [name]: ['must be greater than or equal to 0'] } })
    for (const blank of [null, '']) await put({ [name]: blank }).expect(400, { message: { [name]: ["can't be blank"] } })
    expect(await stored()).toEqual({})
  })

  it('shows the default of an integer that an earlier version cleared (AS-2)', async () => {
    const values = { default_projects_limit: null, metrics_port: null }
    await t.ctx.db.write.insert(applicationSettings).values({ id: 1, values, created_at: new Date(), updated_at: new Date() })
    t.ctx.caches.settings.invalidate()
    expect(await get()).toMatchObject({ default_projects_limit: 100_000, metrics_port: 8089 })
    const created = { email: 'early@example.com', username: 'early', name: 'Early', password: 'password1' }
    expect((await t.api('post', '/users', admin).send(created).expect(201)).body).toMatchObject({ projects_limit: 100_000 })
  })

  it.each([
    [{ admin_notification_email: 'unknown' }, { admin_notification_email: ['is invalid'] }],
    [{ after_sign_out_path: 'javascript:alert(1)' }, { after_sign_out_path: ['must be a valid URL'] }],
    [{ help_page_support_url: '//host' }, { help_page_support_url: ['must be a valid URL'] }],
    [{ home_page_url: 'ftp://example.com' }, { home_page_url: ['must be a valid URL'] }],
    [{ webide_url: 'not a url' }, { webide_url: ['must be a valid URL'] }],
    [{ diagram_url: 'javascript:alert(1)' }, { diagram_url: ['must be a valid URL'] }],
    [{ kroki_url: 'javascript:alert(1)' }, { kroki_url: ['must be a valid URL'] }],
    [{ errtracker_dsn: 'key' }, { errtracker_dsn: ['must be a valid URL'] }],
    [{ clientside_errtracker_dsn: 'ftp://key@example.com/1' }, { clientside_errtracker_dsn: ['must be a valid URL'] }],
    [{ jobqueue_throttling_factor: 0 }, { jobqueue_throttling_factor: ['must be greater than 0'] }],
    [{ jobqueue_throttling_factor: 1 }, { jobqueue_throttling_factor: ['must be less than 1'] }],
    [{ circuitbreaker_access_retries: 0 }, { circuitbreaker_access_retries: ['must be greater than or equal to 1'] }],
    [{ circuitbreaker_check_interval: -1 }, { circuitbreaker_check_interval: ['must be greater than or equal to 0'] }],
    [{ circuitbreaker_storage_timeout: null }, { circuitbreaker_storage_timeout: ["can't be blank"] }],
    [{ container_registry_token_expire_delay: 0 }, { container_registry_token_expire_delay: ['must be greater than 0'] }],
    [{ default_artifacts_expire_in: '' }, { default_artifacts_expire_in: ["can't be blank"] }],
    [{ default_artifacts_expire_in: 'soon' }, { default_artifacts_expire_in: ['is not a correct duration'] }],
    [{ external_image_hosts: ['img.example.org', 'a b'] }, { external_image_hosts: ['is invalid'] }],
    [{ external_image_hosts: ["example.org; script-src 'unsafe-inline'"] }, { external_image_hosts: ['is invalid'] }],
    [{ asset_proxy_allowlist: ['a b'] }, { asset_proxy_allowlist: ['is invalid'] }],
    [{ external_image_hosts: Array(31).fill('example.org') }, { external_image_hosts: ['is invalid'] }],
    [{ disabled_oauth_sign_in_sources: ['hub'] }, { disabled_oauth_sign_in_sources: ["'hub' is not an OAuth sign-in source"] }],
    [{ rsa_key_restriction: '' }, { rsa_key_restriction: ["can't be blank"] }],
    [
      { rsa_key_restriction: -1, dsa_key_restriction: -1, ecdsa_key_restriction: -1, ed25519_key_restriction: -1 },
      { allowed_key_types: ["can't be blank"] },
    ],
    [{ housekeeping_incremental_repack_period: 0 }, { housekeeping_incremental_repack_period: ['must be greater than 0'] }],
    [{ housekeeping_full_repack_period: 9 }, { housekeeping_full_repack_period: ['must be greater than or equal to 10'] }],
    [{ housekeeping_gc_period: 49 }, { housekeeping_gc_period: ['must be greater than or equal to 50'] }],
    [{ max_attachment_size: 0 }, { max_attachment_size: ['must be greater than 0'] }],
    [{ polling_interval_multiplier: -0.5 }, { polling_interval_multiplier: ['must be greater than or equal to 0'] }],
    [{ polling_interval_multiplier: '' }, { polling_interval_multiplier: ["can't be blank"] }],
    [{ repository_storages: [] }, { repository_storages: ["can't be blank"] }],
    [{ repository_storages: ['default', 'a', 'b'] }, { repository_storages: ["can't include: a, b"] }],
    [{ metrics_port: 65_536 }, { metrics_port: ['must be less than 65536'] }],
    [{ restricted_visibility_levels: ['public', 'secret'] }, { restricted_visibility_levels: ["'secret' is not a valid visibility level"] }],
    [{ session_expire_delay: -1 }, { session_expire_delay: ['must be greater than or equal to 0'] }],
    [{ terminal_max_session_time: -1 }, { terminal_max_session_time: ['must be greater than or equal to 0'] }],
    [
      { max_artifacts_size: 0, home_page_url: 'x' },
      { home_page_url: ['must be a valid URL'], max_artifacts_size: ['must be greater than 0'] },
    ],
  ])('11.3: %o is refused, and nothing is stored (AS-6)', async (given, message) => {
    await put({ sign_in_text: 'kept out', ...given }).expect(400, { message })
    expect(await stored()).toEqual({})
  })

  it.each([
    [{ default_artifacts_expire_in: '0' }],
    [{ default_artifacts_expire_in: '3 weeks 2 days' }],
    [{ home_page_url: 'https://example.com/a?b=c' }],
    [{ admin_notification_email: 'abuse@example.com' }],
    [{ polling_interval_multiplier: 1.25 }],
    [{ restricted_visibility_levels: ['public', 'internal'] }],
    [{ enabled_git_access_protocol: 'http' }],
    [{ default_projects_limit: 0 }],
    [{ rsa_key_restriction: 512, dsa_key_restriction: 0, ecdsa_key_restriction: -1, ed25519_key_restriction: 384 }],
    [{ performance_bar_enabled: true }],
    [{ jobqueue_throttling_factor: 0.001 }],
    [{ errtracker_dsn: 'https://key:more@example.com/1', clientside_errtracker_dsn: 'http://example.com/2' }],
  ])('%o is taken and shown', async (given) => {
    expect((await put(given).expect(200)).body).toMatchObject(given)
    expect(await get()).toMatchObject(given)
  })

  it('nil and blank open every protocol (AS-37)', async () => {
    await put({ enabled_git_access_protocol: 'ssh' }).expect(200)
    for (const none of ['nil', '', null]) {
      await put({ enabled_git_access_protocol: 'ssh' }).expect(200)
      expect((await put({ enabled_git_access_protocol: none }).expect(200)).body).toMatchObject({ enabled_git_access_protocol: null })
    }
  })

  it('null and the empty text clear (AS-7, AS-8)', async () => {
    await put({ sign_in_text: 'x', domain_blacklist: ['a'], domain_whitelist: ['b'], restricted_visibility_levels: ['public'] }).expect(200)
    for (const none of [null, '']) {
      const { body } = await put({ sign_in_text: none, domain_blacklist: none, domain_whitelist: none, restricted_visibility_levels: none }).expect(
        200,
      )
      expect(body).toMatchObject({ sign_in_text: null, domain_blacklist: [], domain_whitelist: null, restricted_visibility_levels: null })
    }
    expect((await put({ domain_whitelist: [], restricted_visibility_levels: [] }).expect(200)).body).toMatchObject({
      domain_whitelist: [],
      restricted_visibility_levels: [],
    })
  })

  it('lists as arrays, as one value, as text with separators, and empty (AS-8, AS-9)', async () => {
    const form = (body: string) => t.api('put', '/application/settings', admin).type('form').send(body).expect(200)
    expect((await form('domain_blacklist[]=a.com&domain_blacklist[]=b.com')).body).toMatchObject({ domain_blacklist: ['a.com', 'b.com'] })
    expect((await form('restricted_visibility_levels=public')).body).toMatchObject({ restricted_visibility_levels: ['public'] })
    // a plain name that is repeated (W-3)
    for (const [name, ...values] of [
      ['restricted_visibility_levels', 'internal', 'public'],
      ['domain_blacklist', 'a.com', 'b.com'],
      ['domain_whitelist', 'c.com', 'd.com'],
      ['jobqueue_throttling_queues', 'mail', 'hooks'],
      ['import_sources', 'git', 'git'],
      ['repository_storages', 'default', 'default'],
    ] as const)
      expect((await form(values.map((value) => `${name}=${value}`).join('&'))).body).toMatchObject({ [name]: values })
    await form('domain_whitelist=&restricted_visibility_levels[]=')
    expect((await form('restricted_visibility_levels[]=')).body).toMatchObject({ restricted_visibility_levels: [] })
    const text = 'a.com, b.com;c.com\n*.d.com  ,'
    expect((await put({ domain_whitelist: text, domain_blacklist: text }).expect(200)).body).toMatchObject({
      domain_whitelist: ['a.com', 'b.com', 'c.com', '*.d.com'],
      domain_blacklist: ['a.com', 'b.com', 'c.com', '*.d.com'],
    })
  })

  it('the group of the performance bar, by path or id; the switch is kept as set (AS-48)', async () => {
    const group = await aGroup(t.ctx, { creator: user })
    for (const [named, performance_bar_enabled] of [
      [group.fullPath, true],
      [String(group.id), false],
    ])
      for (const given of [{ performance_bar_allowed_group_id: named, performance_bar_enabled }, { sign_in_text: 'x' }])
        expect((await put(given).expect(200)).body).toMatchObject({
          performance_bar_allowed_group_id: String(group.id),
          performance_bar_enabled,
        })
    await put({ performance_bar_enabled: true }).expect(200)
    for (const none of ['nowhere/at-all', ''])
      expect((await put({ performance_bar_allowed_group_id: none }).expect(200)).body).toMatchObject({
        performance_bar_allowed_group_id: null,
        performance_bar_enabled: true,
      })
  })
})

describe('what a switch needs with it (AS-10 to AS-13)', () => {
  const METRICS = [
    'metrics_host',
    'metrics_method_call_threshold',
    'metrics_packet_size',
    'metrics_pool_size',
    'metrics_sample_interval',
    'metrics_timeout',
  ]
  it.each([
    ['clientside_errtracker_enabled', ['clientside_errtracker_dsn']],
    ['errtracker_enabled', ['errtracker_dsn']],
    ['domain_blacklist_enabled', ['domain_blacklist']],
    ['webide_enabled', ['webide_url']],
    ['diagram_enabled', ['diagram_url']],
    ['kroki_enabled', ['kroki_url']],
    ['metrics_enabled', METRICS],
    ['captcha_enabled', ['captcha_private_key', 'captcha_site_key']],
    ['jobqueue_throttling_enabled', ['jobqueue_throttling_factor', 'jobqueue_throttling_queues']],
    ['unique_ips_limit_enabled', ['unique_ips_limit_per_user', 'unique_ips_limit_time_window']],
  ])('%s must come with %j, whatever was stored before (AS-10, AS-11)', async (name, dependents) => {
    const good = {
      domain_blacklist: ['x.com'],
      jobqueue_throttling_factor: 0.5,
      jobqueue_throttling_queues: ['q'],
      unique_ips_limit_per_user: 2,
      unique_ips_limit_time_window: 60,
    } as Body
    const values = Object.fromEntries(
      dependents.map((dependent) => [
        dependent,
        good[dependent] ?? (dependent.startsWith('metrics') && dependent !== 'metrics_host' ? 5 : 'https://example.com'),
      ]),
    )
    await put(values).expect(200)
    await put({ [name]: true }).expect(400, { error: dependents.map((dependent) => `${dependent} is missing`).join(', ') })
    expect((await put({ [name]: true, ...values }).expect(200)).body).toMatchObject({ [name]: true, ...values })
    // switching off, or something else, needs nothing (AS-13)
    await put({ sign_in_text: 'x' }).expect(200)
    await put({ [name]: false }).expect(200)
  })

  it('others need nothing (AS-12)', async () => {
    const on = { spamfilter_enabled: true, require_two_factor_authentication: true, shared_runners_enabled: true, housekeeping_enabled: true }
    await put(on).expect(200)
  })

  it.each([
    [{ clientside_errtracker_enabled: true, clientside_errtracker_dsn: '' }, { clientside_errtracker_dsn: ["can't be blank"] }],
    [{ domain_blacklist_enabled: true, domain_blacklist: '' }, { domain_blacklist: ['Domain blacklist cannot be empty if Blacklist is enabled.'] }],
    [{ webide_enabled: true, webide_url: ' ' }, { webide_url: ["can't be blank"] }],
    [
      { metrics_enabled: true, ...Object.fromEntries(METRICS.map((name) => [name, 5])), metrics_host: ' ', metrics_timeout: '' },
      { metrics_host: ["can't be blank"], metrics_timeout: ["can't be blank", 'is not a number'] },
    ],
    [{ captcha_enabled: true, captcha_private_key: '', captcha_site_key: 'x' }, { captcha_private_key: ["can't be blank"] }],
    [
      { jobqueue_throttling_enabled: true, jobqueue_throttling_factor: '', jobqueue_throttling_queues: [] },
      {
        jobqueue_throttling_factor: ['Throttling factor cannot be empty if throttling is enabled.'],
        jobqueue_throttling_queues: ['Queues to throttle cannot be empty if throttling is enabled.'],
      },
    ],
    [
      { jobqueue_throttling_enabled: true, jobqueue_throttling_factor: 1, jobqueue_throttling_queues: ['q'] },
      { jobqueue_throttling_factor: ['must be less than 1'] },
    ],
    [
      { jobqueue_throttling_enabled: true, jobqueue_throttling_factor: 0, jobqueue_throttling_queues: ['q'] },
      { jobqueue_throttling_factor: ['must be greater than 0'] },
    ],
    [
      { unique_ips_limit_enabled: true, unique_ips_limit_per_user: '', unique_ips_limit_time_window: 0 },
      { unique_ips_limit_per_user: ["can't be blank", 'is not a number'] },
    ],
    [
      { unique_ips_limit_enabled: true, unique_ips_limit_per_user: 0, unique_ips_limit_time_window: -1 },
      { unique_ips_limit_per_user: ['must be greater than or equal to 1'], unique_ips_limit_time_window: ['must be greater than or equal to 0'] },
    ],
  ])('%o (AS-10)', async (given, message) => {
    await put(given).expect(400, { message })
    expect(await stored()).toEqual({})
  })

  it('what a switch that is on rests on cannot be cleared (AS-13)', async () => {
    await put({ webide_enabled: true, webide_url: 'https://example.com' }).expect(200)
    await put({ webide_url: '' }).expect(400, { message: { webide_url: ["can't be blank"] } })
    expect(await get()).toMatchObject({ webide_enabled: true, webide_url: 'https://example.com' })
  })
})

describe('secrets (AS-2, SEC-136)', () => {
  it('are shown to administrators and lie open nowhere', async () => {
    const given = { captcha_private_key: 'the-private-key', captcha_site_key: 'the-site-key', errtracker_dsn: 'https://key@example.com/1' }
    expect((await put(given).expect(200)).body).toMatchObject(given)
    expect(await get()).toMatchObject(given)
    const kept = JSON.stringify([await stored(), await t.ctx.db.read.select().from(auditEvents), t.logged])
    for (const secret of ['the-private-key', 'the-site-key', 'key@example.com']) expect(kept).not.toContain(secret)
    const [event] = await t.ctx.db.read.select().from(auditEvents).where(eq(auditEvents.action, 'settings_changed')).orderBy(auditEvents.id)
    expect(event).toBeDefined()
    await put({ captcha_private_key: null }).expect(200)
    expect(await get()).toMatchObject({ captcha_private_key: null, captcha_site_key: 'the-site-key' })
  })

  it('records a change with before and after, a secret only as changed (SEC-168)', async () => {
    await t.ctx.db.write.delete(auditEvents)
    await put({ sign_in_text: 'x', captcha_site_key: 'secret' }).expect(200)
    expect(await t.ctx.db.read.select().from(auditEvents)).toMatchObject([
      { action: 'settings_changed', actor_id: admin.id, changes: { sign_in_text: [null, 'x'], captcha_site_key: 'changed' } },
    ])
  })
})

describe('reading them', () => {
  it('costs no query on a hot path, and a change shows with the next request here and within a second elsewhere', async () => {
    const sent: string[] = []
    const db = await openDatabase(t.databaseUrl, { log: t.ctx.log, poolSize: 1, onQuery: (text) => sent.push(text) })
    const other = await createContext({ ...t.ctx.config, baseUrl: 'http://roost.test' }, db, t.ctx.log)
    await readSettings(t.ctx)
    expect((await readSettings(other)).user_default_external).toBe(false)
    for (let i = 0; i < 100; i++) await readSettings(other)
    expect([1, 2]).toContain(sent.filter((text) => text.includes('application_settings')).length)
    await put({ user_default_external: true }).expect(200)
    expect((await readSettings(t.ctx)).user_default_external).toBe(true)
    await expect.poll(async () => (await readSettings(other)).user_default_external, { timeout: 2_000 }).toBe(true)
    await other.close()
    await db.close()
  })

  it('takes effect: new users, their limit, new groups (AS-72)', async () => {
    await put({ user_default_external: true, default_projects_limit: 7, default_group_visibility: 'internal' }).expect(200)
    const n = unique()
    const person = { name: 'x', username: `new${n}`, email: `new${n}@example.com`, password: 'password1' }
    expect((await t.api('post', '/users', admin).send(person).expect(201)).body).toMatchObject({ external: true, projects_limit: 0 })
    const inside = { ...person, username: `in${n}`, email: `in${n}@example.com`, external: false }
    expect((await t.api('post', '/users', admin).send(inside).expect(201)).body).toMatchObject({ external: false, projects_limit: 7 })
    expect(
      (
        await t
          .api('post', '/groups', admin)
          .send({ name: `g${n}`, path: `g${n}` })
          .expect(201)
      ).body,
    ).toMatchObject({ visibility: 'internal' })
  })
})
