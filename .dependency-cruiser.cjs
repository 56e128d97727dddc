// Who may import whom: a row for each floor, and one for each room of services (src/README.md).

/** Values for `from` come from `allowed` only; paths are below src. */
const row = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: allowed.map((path) => `^src/${path}`), dependencyTypesNot: ['type-only'] },
})
/** A package that only some folders may import. */
const only = (name, packages, folders) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: folders.map((path) => `^src/${path}`) },
  to: { path: `node_modules/(${packages})/`, dependencyTypesNot: ['type-only'] },
})

/** The rooms of services from the bottom up: each imports itself and those below it, types included. */
const ROOMS = [
  'core',
  'outbox',
  'identity',
  'activity',
  'groups',
  'repository',
  'projects',
  'integrations',
  'ci',
  'packages',
  'issuables',
  'notes',
  'quick-actions',
  'markdown',
  'content',
  'search',
  'hooks',
  'mail',
  'imports',
  'operations',
]
const room = (name, at) => ({
  name: `services-${name}`,
  severity: 'error',
  from: { path: `^src/services/${name}/` },
  to: { path: `^src/services/(${ROOMS.slice(at + 1).join('|')})/` },
})

module.exports = {
  forbidden: [
    row('routes', '^src/routes/([^/]+)/', [
      'routes/$1/',
      'routes/issuables/',
      // feeds take the filters of the lists
      'routes/(issues/filters|merge-requests/lists)\\.ts$',
      'http/',
      'access/',
      'entities/',
      'services/',
      'failures\\.ts$',
      'rules/',
      'lib/',
    ]),
    row('web', '^src/web/', [
      'web/',
      'routes/issuables/',
      'routes/settings/values\\.ts$',
      'http/',
      'access/',
      'entities/',
      'services/',
      'failures\\.ts$',
      'context\\.ts$',
      'rules/',
      'lib/',
    ]),
    {
      name: 'web-families',
      comment: 'A family of pages imports no other: what both show goes to src/web/components/<topic>/ (src/web/README.md).',
      severity: 'error',
      from: { path: '^src/web/pages/([^/]+)/' },
      to: { path: '^src/web/pages/', pathNot: '^src/web/pages/$1/' },
    },
    {
      name: 'web-pages-on-top',
      comment: 'Only src/web/index.ts imports pages: what they share does not know them.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/web/(pages/|index\\.ts$)' },
      to: { path: '^src/web/pages/' },
    },
    row('http', '^src/http/', ['http/', 'access/', 'failures\\.ts$', 'context\\.ts$', 'rules/', 'lib/']),
    row('services', '^src/services/', ['services/', 'db/', 'git/', 'access/', 'jobs/', 'failures\\.ts$', 'context\\.ts$', 'rules/', 'lib/']),
    {
      // a service defines the types of the records that it loads
      name: 'records-belong-to-loaders',
      severity: 'error',
      from: { path: '^src/(services|access|http|git|db|jobs|rules|lib)/' },
      to: { path: '^src/(entities|routes|web)/' },
    },
    ...ROOMS.slice(0, -1).map(room),
    { name: 'no-flat-services', severity: 'error', from: {}, to: { path: '^src/services/[^/]+\\.ts$' } },
    row('context', '^src/context\\.ts$', []),
    row('access', '^src/access/', ['access/', 'db/', 'failures\\.ts$', 'context\\.ts$', 'rules/', 'lib/']),
    row('entities', '^src/entities/', ['entities/', 'access/can\\.ts$', 'rules/', 'lib/']),
    row('transport', '^src/transport/', [
      'transport/',
      'http/redirect\\.ts$',
      'access/',
      'services/',
      'git/',
      'failures\\.ts$',
      'context\\.ts$',
      'rules/',
      'lib/',
    ]),
    row('git', '^src/git/', ['git/', 'lib/']),
    row('db', '^src/db/', ['db/', 'rules/', 'lib/']),
    row('rules', '^src/rules/', ['rules/', 'lib/']),
    row('lib', '^src/lib/', ['lib/']),
    row('jobs', '^src/jobs/', ['jobs/', 'db/', 'lib/']),
    {
      // a clock that can be moved is for services that are thrown away
      name: 'test-clock',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/testing/' },
      to: { path: '^src/db/test-clock\\.ts$' },
    },
    only('fastify', 'fastify|@fastify', ['http/', 'testing/', 'app\\.ts$']),
    only('pg', 'pg', ['db/']),
    only('aws', '@aws-sdk', ['lib/files/object-bucket\\.ts$']),
    // knows no product, and could be a package (src/db/postgres/README.md)
    row('postgres', '^src/db/postgres/', ['db/postgres/', 'lib/(start-fault|is-running)\\.ts$']),
    {
      name: 'postgres-interface',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/db/postgres/' },
      to: { path: '^src/db/postgres/(?!(index|account|copies)\\.ts$)' },
    },
    // what it takes to start a service, and single files of other floors (src/testing/README.md)
    row('testing-server', '^src/testing/(?!(seed|jobs)/)', [
      'testing/',
      'cli/',
      'db/',
      'lib/',
      '(config|context|failures|log)\\.ts$',
      'access/request-limit\\.ts$',
      'http/(rate-limit-headers|path-methods)\\.ts$',
      'jobs/store\\.ts$',
      'git/process/',
    ]),
    row('testing-seed', '^src/testing/seed/', ['testing/', 'access/', 'services/', 'git/types\\.ts$', 'rules/', 'lib/', 'failures\\.ts$']),
    row('testing-jobs', '^src/testing/jobs/', ['testing/', 'services/ci/', 'db/', 'lib/', '(context|failures)\\.ts$']),
    // beside cli/, of which its command is a part; nothing else knows it
    row('testing', '^src/(?!testing/|cli/commands/test\\.ts$)', ['(?!testing/)']),
    { name: 'no-cycles', severity: 'error', from: { path: '^src/' }, to: { circular: true } },
    { name: 'no-strays', severity: 'error', from: { path: '^src/' }, to: { path: '^(test|scripts|bench)/' } },
    { name: 'nothing-unresolved', severity: 'error', from: { path: '^src/' }, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: 'specify',
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
