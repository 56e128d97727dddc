import { VISIBILITIES, type Visibility } from '../../rules/visibility.js'

/** What all settings have in common. */
interface Attribute<Kind extends string, Value> {
  kind: Kind
  default: Value
  /** What the setting controls; null when it is only stored and shown. */
  effect: string | null
}

interface Bounds {
  /** Required; null is refused (AS-7). */
  present?: boolean
  least?: number
  most?: number
  above?: number
  below?: number
}

const bool = (value: boolean, effect: string | null = null): Attribute<'bool', boolean> => ({ kind: 'bool', default: value, effect })
const text = (effect: string | null = null, check: 'url' | 'email' | 'any' = 'any'): Attribute<'text', string | null> & { check: typeof check } => ({
  kind: 'text',
  default: null,
  check,
  effect,
})
/**
 * Encrypted at rest, and shown only by the settings endpoint (SEC-136). The DSN of an error tracker is a URL whose user
 * part is the key.
 */
const secret = (check: 'dsn' | 'any' = 'any', effect: string | null = null): Attribute<'secret', string | null> & { check: typeof check } => ({
  kind: 'secret',
  default: null,
  check,
  effect,
})
const duration = (value: string, effect: string): Attribute<'duration', string> => ({ kind: 'duration', default: value, effect })
const textWithDefault = (value: string, effect: string): Attribute<'text', string | null> & { check: 'any' } => ({
  kind: 'text',
  default: value,
  check: 'any',
  effect,
})
/** An integer that is always set. */
const count = (value: number, bounds: Omit<Bounds, 'present'>, effect: string | null = null): Attribute<'int', number> & Bounds => ({
  kind: 'int',
  default: value,
  effect,
  present: true,
  ...bounds,
})
const decimal = <Value extends number | null>(value: Value, bounds: Bounds, effect: string | null = null): Attribute<'decimal', Value> & Bounds => ({
  kind: 'decimal',
  default: value,
  effect,
  ...bounds,
})
const oneOf = <const Word extends string>(
  value: Word,
  words: readonly Word[],
  effect: string,
): Attribute<'word', Word> & { words: readonly Word[] } => ({
  kind: 'word',
  default: value,
  words,
  effect,
})
const level = <const Level extends number>(value: Level, levels: readonly Level[], effect: string) => ({
  kind: 'level' as const,
  default: value,
  levels,
  effect,
})
const list = <Value extends string[] | null>(
  value: Value,
  effect: string | null,
  more: { split?: boolean; words?: readonly string[] } = {},
): Attribute<'list', Value> & { split?: boolean; words?: readonly string[] } => ({ kind: 'list', default: value, effect, ...more })

const visibility = (effect: string) => oneOf<Visibility>('private', VISIBILITIES, effect)
const bits = (name: string): Attribute<'bits', number> => ({
  kind: 'bits',
  default: 0,
  effect: `minimum length in bits of a new ${name} key; 0: any length, -1: such keys are refused`,
})

/** Every setting of the contract in its order, with kind, default (11.3), validation and effect (AS-20 to AS-70). */
export const SETTINGS = {
  admin_notification_email: text('address that damage found by repository checks, and accounts that wait for approval, are mailed to', 'email'),
  after_sign_out_path: text('where signing out leads', 'url'),
  after_sign_up_text: text('text that is shown after signing up, in Markdown'),
  spamfilter_api_key: secret('any', 'key for the spam filter'),
  spamfilter_enabled: bool(
    false,
    'whether public texts of new users are checked by the spam filter that `ROOST_SPAM_FILTER_URL` names, and held if it marks them',
  ),
  circuitbreaker_access_retries: count(3, { least: 1 }, 'number of attempts of one check of a storage'),
  circuitbreaker_check_interval: count(1, { least: 0 }, 'seconds between two checks of a storage; 0: one a second'),
  circuitbreaker_failure_count_threshold: count(
    3,
    { least: 0 },
    'number of failed checks in a row above which calls that need the storage are refused with 503',
  ),
  circuitbreaker_failure_reset_time: count(
    1800,
    { least: 0 },
    'seconds after the last failed check after which the storage is tried again at the latest; 0: no call is ever refused',
  ),
  circuitbreaker_storage_timeout: count(15, { least: 0 }, 'seconds after which a check that hangs has failed; at least half a second'),
  clientside_errtracker_dsn: secret('dsn', 'DSN of the tracker that gets errors of the page script; the service sends them on'),
  clientside_errtracker_enabled: bool(false, 'whether errors of the page script are sent to `clientside_errtracker_dsn`'),
  container_registry_token_expire_delay: count(5, { above: 0 }, 'minutes for which a client of the container registry is signed in'),
  default_artifacts_expire_in: duration('30 days', 'how long artifacts of jobs are kept where the job does not say; 0: for good'),
  default_branch_protection: level(
    2,
    [0, 1, 2],
    'protection of the default branch when it is created: 0 none, 1 developers may push, 2 only maintainers may push, also to an empty project',
  ),
  default_group_visibility: visibility('visibility of a new group that is created without one'),
  default_project_visibility: visibility('visibility of a new project that is created without one'),
  default_projects_limit: count(100_000, { least: 0 }, 'maximum number of personal projects of a new user'),
  default_snippet_visibility: visibility('visibility of a new personal snippet that is created without one'),
  disabled_oauth_sign_in_sources: list([] as string[], 'names of configured sign-in providers that are switched off'),
  domain_blacklist_enabled: bool(false, 'whether `domain_blacklist` is used'),
  domain_blacklist: list(
    [] as string[],
    'domains of e-mail addresses that users may not sign up with or add to their accounts; `*` stands for any text',
    {
      split: true,
    },
  ),
  domain_whitelist: list(null as string[] | null, 'the only such domains that users may use, whatever the blacklist has', { split: true }),
  dsa_key_restriction: bits('DSA'),
  ecdsa_key_restriction: bits('ECDSA'),
  ed25519_key_restriction: bits('Ed25519'),
  rsa_key_restriction: bits('RSA'),
  email_author_in_body: bool(false, 'whether mails name the author of a text in their first line'),
  enabled_git_access_protocol: {
    kind: 'protocol' as const,
    default: null as 'ssh' | 'http' | null,
    effect: 'the only protocol that Git clients may use; null: both',
  },
  avatarsvc_enabled: bool(true, 'whether users without an avatar get one from the avatar service, if one is configured'),
  help_page_hide_commercial_content: bool(false, 'the page `/help` does not say what Roost is'),
  help_page_support_url: text('where the link for support on the page `/help` leads', 'url'),
  home_page_url: text('where the root page redirects callers who are not signed in', 'url'),
  housekeeping_bitmaps_enabled: bool(true, 'whether maintenance writes pack bitmaps'),
  housekeeping_enabled: bool(true, 'whether maintenance repacks repositories'),
  housekeeping_full_repack_period: count(50, {}, 'number of pushes after which all packs of a repository are repacked into one'),
  housekeeping_gc_period: count(200, {}, 'number of pushes after which unreachable objects older than two weeks are removed'),
  housekeeping_incremental_repack_period: count(10, { above: 0 }, 'number of pushes after which small packs are repacked'),
  html_emails_enabled: bool(true, 'whether mails are sent as HTML, beside plain text'),
  import_sources: list(['git'] as string[], 'sources that new projects may be imported from', { words: ['git'] }),
  webide_enabled: bool(false, 'whether pages of projects link to the editor of `webide_url`'),
  webide_url: text(
    'address of an editor on the web; the clone address of the project is put in place of `%{url}`, or given as the parameter `url`',
    'url',
  ),
  max_artifacts_size: count(100, { above: 0 }, 'size of a file of artifacts that a job may leave, in MiB'),
  max_attachment_size: count(10, { above: 0 }, 'maximum size of an uploaded file in MiB'),
  max_pages_size: count(100, { least: 0 }),
  metrics_enabled: bool(false, 'whether each process sends what it counts over UDP, as points in the line protocol of InfluxDB'),
  metrics_host: textWithDefault('localhost', 'host that takes the points'),
  metrics_method_call_threshold: count(
    10,
    { least: 0 },
    'milliseconds above which a request, a git process, a job or the delivery of a webhook becomes a point',
  ),
  metrics_packet_size: count(1, { least: 0 }, 'number of points in a packet; one that is not full is sent after a second'),
  metrics_pool_size: count(16, { least: 0 }, 'number of packets, each on its own socket, that are sent at a time; at most 64'),
  metrics_port: count(8089, { least: 0, below: 65_536 }, 'UDP port of `metrics_host`'),
  metrics_sample_interval: count(15, { least: 0 }, 'seconds between samples of the gauges and counters of a process; 0: none'),
  metrics_timeout: count(10, { least: 0 }, 'seconds after which a packet that cannot be sent is dropped; at least one'),
  password_authentication_enabled_for_web: bool(true, 'whether passwords sign in to pages, and the OAuth password grant issues tokens'),
  password_authentication_enabled_for_git: bool(true, 'whether Git over HTTP accepts passwords as well as tokens'),
  performance_bar_allowed_group_id: {
    kind: 'group' as const,
    default: null as string | null,
    effect: 'group whose members see the performance bar, besides administrators',
  },
  performance_bar_enabled: bool(false, 'whether pages end with a bar that says what they cost: time, statements, git processes, cache hits'),
  diagram_enabled: bool(false, 'whether pages show blocks of PlantUML in Markdown as pictures of the server of `diagram_url`'),
  diagram_url: text('address of a PlantUML server that browsers can reach; it gets the text of diagrams', 'url'),
  polling_interval_multiplier: decimal<number>(1, { present: true, least: 0 }, 'factor of the `Poll-Interval` header of endpoints that clients poll'),
  project_export_enabled: bool(true, 'whether maintainers can make archives of projects ([how](administration.md#projects-and-groups-as-archives))'),
  monitoring_metrics_enabled: bool(
    false,
    'whether administrators may read `/-/metrics` with a token of scope `api`, besides those whom `METRICS_TOKEN` and `METRICS_ALLOWED` admit',
  ),
  captcha_enabled: bool(false, 'whether visitors who sign up must solve a captcha of the service that `ROOST_CAPTCHA_URL` names'),
  captcha_private_key: secret('any', 'key for asking that service about an answer'),
  captcha_site_key: secret('any', 'key that its page shows'),
  repository_checks_enabled: bool(
    true,
    'whether the service checks all objects of each repository once a week in the background; damage is logged and reported by `roost doctor`',
  ),
  repository_storages: list(['default'] as string[], 'storages for new projects; one of them is chosen at random'),
  require_two_factor_authentication: bool(false, 'whether all users need a second factor to sign in to pages'),
  restricted_visibility_levels: list(
    null as Visibility[] | null,
    'visibility levels that only administrators may set; `public` also hides users from anonymous callers',
  ),
  send_user_confirmation_email: bool(
    false,
    'whether new users are mailed a link to confirm their address, and cannot use their password before; only with mail',
  ),
  errtracker_dsn: secret('dsn', 'DSN of a tracker that speaks the protocol of Sentry; it may be on the local network'),
  errtracker_enabled: bool(false, 'whether errors of the service, 5xx and failed jobs, are sent to `errtracker_dsn`'),
  session_expire_delay: count(10_080, { least: 0 }, 'minutes after its last use for which a browser stays signed in'),
  shared_runners_enabled: bool(true, 'whether shared runners are enabled in a new project that is created without a choice'),
  shared_runners_text: text('text on the page of the pipelines of projects with shared runners, in Markdown'),
  jobqueue_throttling_enabled: bool(false, 'whether the jobs of `jobqueue_throttling_queues` are throttled'),
  jobqueue_throttling_factor: decimal<number | null>(
    null,
    { above: 0, below: 1 },
    'share of the places for jobs that each throttled kind may have in a process, rounded up; there are 4 places, and 32 for webhooks',
  ),
  jobqueue_throttling_queues: list([] as string[], 'kinds of jobs that are throttled, by their names in `roost jobs`; other names have no effect'),
  sign_in_text: text('text on the sign-in page, in Markdown'),
  signup_enabled: bool(true, 'whether visitors may sign up; their accounts wait for approval, see `require_admin_approval_after_user_signup`'),
  terminal_max_session_time: count(0, { least: 0 }),
  two_factor_grace_period: count(48, { least: 0 }, 'hours for which a user can put off setting it up'),
  unique_ips_limit_enabled: bool(false, 'whether the number of IP addresses a user may call from is limited'),
  unique_ips_limit_per_user: count(10, { least: 0 }, 'maximum number of addresses of one user within the time window'),
  unique_ips_limit_time_window: count(3_600, { least: 0 }, 'seconds for which an address counts after it was used'),
  usage_ping_enabled: bool(true),
  user_default_external: bool(false, 'whether a new user is external'),
  user_oauth_applications: bool(true, 'whether users may register OAuth applications'),
  version_check_enabled: bool(true),
  // additions to the contract
  repository_size_limit: count(
    0,
    { least: 0 },
    'maximum size of a repository on disk in MiB; beyond it, pushes and commits are refused; 0: unlimited',
  ),
  user_uploads_size_limit: count(0, { least: 0 }, 'maximum total size in MiB of the files that one user uploads; 0: unlimited'),
  project_uploads_size_limit: count(0, { least: 0 }, 'maximum total size in MiB of the files that are uploaded to one project; 0: unlimited'),
  generic_packages_size_limit: count(5_120, { least: 0 }, 'maximum size in MiB of one file of a generic package; 0: unlimited'),
  maven_packages_size_limit: count(3_072, { least: 0 }, 'maximum size in MiB of one file of a Maven package; 0: unlimited'),
  npm_packages_size_limit: count(500, { least: 0 }, 'maximum size in MiB of an npm package; 0: unlimited'),
  nuget_packages_size_limit: count(500, { least: 0 }, 'maximum size in MiB of a NuGet package; 0: unlimited'),
  pypi_packages_size_limit: count(3_072, { least: 0 }, 'maximum size in MiB of one file of a Python package; 0: unlimited'),
  project_packages_size_limit: count(0, { least: 0 }, 'maximum total size in MiB of the packages of one project; 0: unlimited'),
  lfs_object_size_limit: count(5_120, { least: 0 }, 'maximum size in MiB of one object of Git LFS; 0: unlimited'),
  project_lfs_size_limit: count(0, { least: 0 }, 'maximum total size in MiB of the objects of Git LFS of one project; 0: unlimited'),
  lfs_pointer_check_enabled: bool(true, 'whether pushes are refused that bring LFS pointers to objects which the project does not have'),
  deletion_delay_days: count(
    7,
    { least: 0, most: 90 },
    'days for which a deleted project or group is hidden and can be restored, before it is removed; 0: it is removed at once',
  ),
  require_admin_approval_after_user_signup: bool(
    true,
    'whether accounts that visitors make wait until an administrator approves them, so that a new server is closed although `signup_enabled` is on by default, as the API says',
  ),
  external_images: oneOf(
    'proxy',
    ['proxy', 'direct', 'off'],
    'how pages show pictures of other sites: `proxy` fetches and serves them, so that those sites learn nothing of readers; `direct` lets browsers load those of `external_image_hosts`; what is not shown is its text',
  ),
  external_image_hosts: list(
    [] as string[],
    'hosts from which browsers load pictures while `external_images` is `direct`; `*.example.org` stands for all subdomains',
    { split: true },
  ),
  asset_proxy_allowlist: list(
    [] as string[],
    'further hosts from which browsers load pictures themselves, also while `external_images` is `proxy`; the host of the service is always one',
    { split: true },
  ),
  enforce_ci_inbound_job_token_scope_enabled: bool(
    false,
    'whether jobs use other projects with their token only where these allow it, whatever the projects have set',
  ),
  mirror_available: bool(true, 'whether maintainers set up mirrors of their projects; else administrators alone do, and those that are there go on'),
  kroki_enabled: bool(false, 'whether pages show blocks of Mermaid and other diagrams in Markdown as pictures of the server of `kroki_url`'),
  kroki_url: text('address of a Kroki server that browsers can reach; it gets the text of diagrams', 'url'),
  help_page_text: text('text of the page `/help`, in Markdown, in place of the one of this service'),
  maintenance_mode: bool(
    false,
    'whether the service is read-only: what writes answers 503, over the API, pages, Git and LFS, but for signing in and these settings; background jobs go on',
  ),
  maintenance_mode_message: text('text that is shown to everybody, and answered to what writes, while the service is read-only'),
  throttle_unauthenticated_enabled: bool(
    false,
    'whether requests without a credential are limited by these settings, in place of `ROOST_REQUESTS_PER_ADDRESS`',
  ),
  throttle_unauthenticated_requests_per_period: count(3_600, { least: 1 }, 'requests of an address in a period'),
  throttle_unauthenticated_period_in_seconds: count(3_600, { least: 1, most: 86_400 }, 'seconds of a period'),
  throttle_authenticated_api_enabled: bool(
    false,
    'whether calls of users to the API are limited by these settings, in place of `ROOST_REQUESTS_PER_USER`',
  ),
  throttle_authenticated_api_requests_per_period: count(7_200, { least: 1 }, 'calls of a user to the API in a period'),
  throttle_authenticated_api_period_in_seconds: count(3_600, { least: 1, most: 86_400 }, 'seconds of a period'),
  throttle_authenticated_web_enabled: bool(
    false,
    'whether requests of users for pages are limited by these settings, in place of `ROOST_REQUESTS_PER_USER`',
  ),
  throttle_authenticated_web_requests_per_period: count(7_200, { least: 1 }, 'requests of a user for pages in a period'),
  throttle_authenticated_web_period_in_seconds: count(3_600, { least: 1, most: 86_400 }, 'seconds of a period'),
}

export type SettingName = keyof typeof SETTINGS
export type Settings = { [Name in SettingName]: (typeof SETTINGS)[Name]['default'] }
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]
export const SECRETS: ReadonlySet<SettingName> = new Set(SETTING_NAMES.filter((name) => SETTINGS[name].kind === 'secret'))
export const DEFAULTS = Object.fromEntries(SETTING_NAMES.map((name) => [name, SETTINGS[name].default])) as Settings

/** The stored values and, for the others, the defaults. Earlier versions let some integers be cleared. */
export const withDefaults = (stored: Partial<Record<SettingName, unknown>>): Settings => ({
  ...DEFAULTS,
  ...Object.fromEntries(Object.entries(stored).filter(([name, value]) => value !== null || SETTINGS[name as SettingName]?.kind !== 'int')),
})

/** Why a setting has no effect, for settings whose feature is not planned. */
export const WITHOUT_EFFECT: Partial<Record<SettingName, string>> = {
  max_pages_size: 'projects publish no sites',
  terminal_max_session_time: 'there is no web terminal',
  usage_ping_enabled: 'the service sends no reports',
  version_check_enabled: 'the service does not look for newer versions',
}

/** The settings that a switch requires when it is on, in the order of AS-10. */
export const DEPENDENTS: Partial<Record<SettingName, SettingName[]>> = {
  clientside_errtracker_enabled: ['clientside_errtracker_dsn'],
  errtracker_enabled: ['errtracker_dsn'],
  domain_blacklist_enabled: ['domain_blacklist'],
  webide_enabled: ['webide_url'],
  diagram_enabled: ['diagram_url'],
  kroki_enabled: ['kroki_url'],
  metrics_enabled: [
    'metrics_host',
    'metrics_method_call_threshold',
    'metrics_packet_size',
    'metrics_pool_size',
    'metrics_sample_interval',
    'metrics_timeout',
  ],
  captcha_enabled: ['captcha_private_key', 'captcha_site_key'],
  jobqueue_throttling_enabled: ['jobqueue_throttling_factor', 'jobqueue_throttling_queues'],
  unique_ips_limit_enabled: ['unique_ips_limit_per_user', 'unique_ips_limit_time_window'],
}
