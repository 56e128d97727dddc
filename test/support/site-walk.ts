import type { TestBrowser } from './browser.js'

/** What the addresses of pages and forms are filled with. */
export interface Place {
  project: string
  group: string
  user: string
}

/** The address of a page or form of a place. */
export function addressOf(at: string, { project, group, user }: Place): string {
  const path = at
    .replace(/^P(?=\/|$)/, `/${project}`)
    .replace(/^G(?=\/|$)/, `/groups/${group}`)
    .replace(/^U(?=\/|$)/, `/${user}`)
  return path.replace(/:[a-z_]+\([^)]*\)|:[a-z_]+/g, (name) => ({ ':username': user, ':sha': 'main' })[name] ?? '1').replace('*', 'main/a.txt')
}

/** Makes a function that asks as a browser with its cookies does, without following redirects. */
export const asking = (url: string) => async (browser: TestBrowser, path: string, fields?: Record<string, string> | URLSearchParams) => {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
  const body = fields && new URLSearchParams(fields)
  body?.set('authenticity_token', String(browser.page?.$('[name=authenticity_token]').first().val() ?? ''))
  const headers = { accept: 'text/html', 'accept-encoding': 'identity', cookie }
  const answer = await fetch(url + path, { redirect: 'manual', headers, ...(body && { method: 'POST', body }) })
  const location = answer.headers.get('location') ?? ''
  return { status: answer.status, location, text: `${location}\n${await answer.text()}` }
}

/** A page without the place that it is about and what is new in each answer. */
export const bare = ({ status, text }: { status: number; text: string }, { project, group }: Place) =>
  [project, group, project.toUpperCase(), group.toUpperCase()]
    .flatMap((path) => [path, encodeURIComponent(path)])
    .sort((a, b) => b.length - a.length)
    .reduce((found, path) => found.replaceAll(path, 'PLACE'), `${status} ${text}`)
    .replace(/name="(authenticity_token|form_key)" value="[^"]*"/g, '')
