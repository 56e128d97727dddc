import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { families } from '../src/routes/index.js'
import { SERVICES } from '../src/services/integrations/catalogue.js'

const VERSIONS = ['10.5', '11.11', '13.12'] as const
type Version = (typeof VERSIONS)[number]

interface Listed {
  call: string
  family: string
  paid: boolean
  served: boolean
  in(version: Version): boolean
}

/** Why what is missing is not served. */
const REASONS: [RegExp, string][] = [
  [/\/clusters/, 'Kubernetes clusters by certificate: the original ended them in 15.0'],
  [/pages\/domains/, 'there are no Pages'],
  [/services\/(hipchat|gitlab-ci)/, 'the service has ended'],
  [/services\/prometheus/, 'metrics are read at `/-/metrics`, not shown'],
  [/\/services|\/invitations/, 'not built'],
  [/^POST \/session/, 'the original ended it in 10.2'],
  [/groups\/.*(import|export)/, 'groups are moved by the commands of imports'],
  [/triggers\/.*take_ownership/, 'the original ended it in 11.0'],
  [/cancel_merge_when_pipeline_succeeds/, 'it is a POST in the original, which is served'],
  [/\/epics|burndown/, 'epics and charts are of paid editions'],
  [/ldap_group_links/, 'groups of a directory are set by single sign-on'],
  [/license|billable/, 'there are no licences to manage'],
  [/approv/, 'rules of approvals are of paid editions; approvals are served'],
  [/push_rule/, 'rules of pushes are of paid editions; hooks and protected branches are served'],
  [/groups\/:id\/wikis/, 'wikis of groups are of paid editions; those of projects are served'],
  [/audit_events/, 'the audit log is read by administrators, for all projects and groups'],
]

const plain = (path: string) => path.replace(/\([^)]*\)/g, '').replace(/:[a-z_]+|\*/g, ':id')
const served = families.flat().map(({ method, path }) => ({ method, path: plain(path) }))
/** Whether an endpoint answers the call; its parameters may be words there. */
function serves(method: string, path: string): boolean {
  const slug = /\/services\/(.+)$/.exec(path)?.[1]
  if (slug !== undefined && !SERVICES.has(slug)) return false
  return served.some((own) => own.method === method && new RegExp(`^${own.path.replace(/[.+]/g, '\\$&').replaceAll(':id', '[^/]+')}$`).test(path))
}

const listed = readFileSync(new URL('../docs/spec/endpoints.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line): Listed => {
    const [span = '', edition, method = '', path = ''] = line.split(' ')
    const [first = '', last = VERSIONS.at(-1)] = span.split('..')
    const at = (version: string) => VERSIONS.indexOf(version as Version)
    const [of = '', ...words] = path.split('/').filter((word) => !/^(:id|-|)$/.test(word))
    const [noun] = words
    const isAction = /^(un)?(archive|block|star)$|^(de)?activate$|^starrers$/.test(String(noun))
    return {
      call: `${method} ${path}`,
      family: /^(projects|groups|users|admin|user)$/.test(of) && noun !== undefined && !isAction ? noun : of,
      paid: edition === 'paid',
      served: serves(method, path),
      in: (version) => at(first) <= at(version) && at(version) <= at(String(last)),
    }
  })

const share = (some: Listed[]) => (some.length === 0 ? '' : `${some.filter((each) => each.served).length} of ${some.length}`)
const percent = (some: Listed[]) => `${((some.filter((each) => each.served).length * 100) / some.length).toFixed(1)} %`
const reasonOf = ({ call }: Listed) => REASONS.find(([pattern]) => pattern.test(call))?.[1]

it('docs/coverage.md says what is served of the original, and why the rest is not', async () => {
  expect(listed.filter((each) => !each.served && !reasonOf(each)).map(({ call }) => call)).toEqual([])
  const free = listed.filter(({ paid }) => !paid)
  const rows = [...new Set(listed.map(({ family }) => family))].sort().map((family) => {
    const all = listed.filter((each) => each.family === family)
    const reasons = [...new Set(all.filter((each) => !each.served).map(reasonOf))]
    return `| ${family} | ${VERSIONS.map((version) => share(all.filter((each) => each.in(version)))).join(' | ')} | ${reasons.join('; ')} |`
  })
  const text = `# Coverage

What Roost serves of the endpoints that a client of the original calls, family by family. The lists are of the Go client of that time ([spec/endpoints.txt](spec/endpoints.txt)), which calls most of the original's endpoints, though not all; what Roost serves beside them is in the reference. This page is written by \`npx vitest run test/coverage.test.ts --update\`.

| | 10.5 | 11.11 | 13.12 |
|---|---|---|---|
| all endpoints | ${VERSIONS.map((version) => percent(listed.filter((each) => each.in(version)))).join(' | ')} |
| those of the free edition | ${VERSIONS.map((version) => percent(free.filter((each) => each.in(version)))).join(' | ')} |

| family | 10.5 | 11.11 | 13.12 | why not the rest |
|---|---|---|---|---|
${rows.join('\n')}
`
  await expect(text).toMatchFileSnapshot('../docs/coverage.md')
})
