import { type CheerioAPI, load } from 'cheerio'
import { parseCookie, parseSetCookie } from 'cookie'
import { expect } from 'vitest'

/** A page as it was answered, after redirects. */
export interface Opened {
  status: number
  /** Path and query where the redirects ended. */
  at: string
  headers: Headers
  html: string
  /** Finds elements, as jQuery does. */
  $: CheerioAPI
  /** What a reader sees, in one line. */
  text: string
}

type Fields = Record<string, string | string[] | File>

/** Parses the page when its elements or its text are asked for. */
function opened({ status, headers }: Response, at: string, html: string): Opened {
  let parsed: CheerioAPI | undefined
  return {
    ...{ status, at, headers, html },
    get $() {
      parsed ??= load(html)
      return parsed
    },
    get text() {
      return this.$('body').text().replace(/\s+/g, ' ')
    },
  }
}

/** A browser without scripts: it keeps cookies, follows redirects, and sends the forms of the pages that it opens. */
export class TestBrowser {
  readonly cookies = new Map<string, string>()
  page: Opened | undefined

  constructor(
    private readonly url: string,
    private readonly headers: Record<string, string> = {},
  ) {}

  open = (path: string): Promise<Opened> => this.request(path, {})

  /** Opens the first link with this text. */
  follow(text: string): Promise<Opened> {
    const { $, at } = this.page ?? expect.fail('no page is open')
    const href = $('a')
      .filter((_, each) => $(each).text() === text)
      .attr('href')
    return this.open(href?.replace(/#.*/, '') ?? expect.fail(`${at} has no link ${text}`))
  }

  /** Sends the form with this action, or else the one whose button has this text, with its hidden fields and these. */
  async submit(which: string, fields: Fields = {}): Promise<Opened> {
    const { $, at } = this.page ?? expect.fail('no page is open')
    const button = (text: string) =>
      $('form').filter((_, one) =>
        $(one)
          .find('button')
          .toArray()
          .some((each) => $(each).text() === text),
      )
    const form = which.startsWith('/') ? $(`form[action="${which}"]`).last() : button(which).first()
    if (form.length === 0) expect.fail(`${at} has no form ${which}: ${this.page?.text}`)
    const given: Fields = {}
    for (const { name, value } of form.serializeArray())
      given[name] = name.endsWith('[]') ? [...([given[name] ?? []].flat() as string[]), value] : value
    return this.post(form.attr('action') ?? at, { ...given, ...fields }, form.attr('enctype'))
  }

  post(path: string, fields: Fields, enctype?: string): Promise<Opened> {
    const body = enctype ? new FormData() : new URLSearchParams()
    for (const [name, value] of Object.entries(fields)) for (const each of [value].flat()) body.append(name, each as string)
    return this.request(path, { method: 'POST', body })
  }

  async request(path: string, options: RequestInit): Promise<Opened> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
    const answer = await fetch(this.url + path, {
      ...options,
      redirect: 'manual',
      headers: {
        accept: 'text/html,application/xhtml+xml',
        'accept-encoding': 'identity',
        ...(cookie && { cookie }),
        ...this.headers,
        ...options.headers,
      },
    })
    for (const text of answer.headers.getSetCookie()) this.#keep(text)
    const to = answer.headers.get('location')
    if (to !== null && answer.status < 400) {
      const next = new URL(to, this.url)
      if (next.origin === new URL(this.url).origin) {
        await answer.body?.cancel()
        return this.request(next.pathname + next.search, {})
      }
    }
    this.page = opened(answer, path, await answer.text())
    return this.page
  }

  /** Signs in by the form. */
  async signIn({ username, password }: { username: string; password: string }): Promise<Opened> {
    await this.open('/users/sign_in')
    return this.submit('/users/sign_in', { 'user[login]': username, 'user[password]': password })
  }

  #keep(text: string): void {
    const { name, value = '', maxAge } = parseSetCookie(text)
    if (maxAge === 0) this.cookies.delete(name)
    else this.cookies.set(name, parseCookie(`a=${value}`)['a'] ?? value)
  }
}
