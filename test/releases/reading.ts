/** The administrator of a release's fixture. */
export const TOKEN = 'release-token-0123456789'

/** An answer of the API: its status, and its body or, if that is not JSON, its text. */
export interface Answer {
  status: number
  body: unknown
}

/** Answers by path, below /api/v4. */
export type Answers = Record<string, Answer>

type Item = Record<string, unknown>

/** Calls the API of a service. */
export async function call(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await fetch(`${url}/api/v4${path}`, {
    method,
    headers: { 'private-token': TOKEN, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json')
  return { status: answer.status, body: isJson && text !== '' ? JSON.parse(text) : text }
}

/** The field of an item that a parameter of a path takes; `id` for all others. */
const FIELDS: Record<string, string> = {
  issue_iid: 'iid',
  merge_request_iid: 'iid',
  slug: 'slug',
  key: 'key',
  branch: 'name',
  name: 'name',
}

/** Lists of what a path has no list of: the list, and the field of its items. */
const LISTS: Record<string, [list: string, field: string]> = {
  '/projects/:id/repository/tags/:tag_name': ['/projects/:id/repository/tags', 'name'],
  '/projects/:id/releases/:tag_name': ['/projects/:id/releases', 'tag_name'],
  '/projects/:id/repository/files/:file_path': ['/projects/:id/repository/tree?recursive=true', 'path'],
  '/projects/:id/repository/blobs/:sha': ['/projects/:id/repository/tree?recursive=true', 'id'],
  '/keys/:id': ['/user/keys', 'id'],
  '/avatar': ['/users', 'public_email'],
}

/** Queries that a path needs. */
const QUERIES: [path: RegExp, query: string][] = [
  [/\/repository\/files\//, 'ref=main'],
  [/^\/projects\/.*\/search$/, 'scope=issues&search=first'],
  [/\/search$/, 'scope=projects&search=api'],
  [/\/repository\/compare$/, 'from=feature&to=main'],
  [/\/merge_base$/, 'refs[]=feature&refs[]=main'],
  [/^\/avatar$/, 'email=ann@example.com'],
]

/** What is not data of the instance, or is made again for each answer. */
const LEFT_OUT = /\/archive|^\/(version|metadata|keys|admin\/jobs)$|^\/(uploads|oauth|-)\//

/**
 * Reads everything that an administrator can read: each GET of the reference, with each item of each list in its path.
 * Throws if an operation could not be read because its list is empty.
 */
export async function readAll(url: string): Promise<Answers> {
  const answers: Answers = {}
  const read = async (path: string) => {
    const [, query = ''] = path.split('?')
    const needed = QUERIES.find(([pattern]) => pattern.test(path.split('?')[0] as string))?.[1]
    const full = [path.split('?')[0], [query, needed, 'per_page=100'].filter(Boolean).join('&')].join('?')
    answers[full] ??= await call(url, 'GET', full)
    return answers[full]
  }
  /** All paths of a template, by the items of the lists before its parameters. */
  const expand = async (template: string): Promise<string[]> => {
    const at = template.lastIndexOf('/:')
    if (at < 0) return [template]
    const [, parameter, rest] = /^\/:(\w+)(.*)$/.exec(template.slice(at)) as unknown as [string, string, string]
    const [list, field] = LISTS[template.slice(0, at + 2 + parameter.length)] ?? [template.slice(0, at), FIELDS[parameter] ?? 'id']
    const paths: string[] = []
    for (const path of await expand(list)) {
      const { body } = await read(path)
      for (const item of Array.isArray(body) ? (body as Item[]) : [])
        if (item[field] !== undefined && item['type'] !== 'tree')
          paths.push(`${pathOf(template.slice(0, at), path)}/${encodeURIComponent(String(item[field]))}${rest}`)
    }
    return paths
  }
  const { body } = await call(url, 'GET', '/openapi.json')
  const templates = Object.entries((body as { paths: Record<string, { get?: object }> }).paths)
    .filter(([path, operations]) => operations.get && !LEFT_OUT.test(path))
    .map(([path]) => path.replaceAll(/\{(\w+)\}/g, ':$1'))
  const unread: string[] = []
  for (const template of templates) {
    const paths = await expand(template)
    for (const path of paths) await read(path)
    if (paths.length === 0) unread.push(template)
  }
  if (unread.length > 0) throw new Error(`nothing to read for ${unread.join(', ')}`)
  return answers
}

/** The path of a template, whose list may be another one, with the values of the parameters of `listed`. */
function pathOf(template: string, listed: string): string {
  const values = listed.split('?')[0]?.split('/') ?? []
  return template
    .split('/')
    .map((part, at) => (part.startsWith(':') ? values[at] : part))
    .join('/')
}
