import type { FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'
import type { Caller } from '../access/actor.js'
import { findPathOwner } from '../access/path-owner.js'
import type { Context } from '../context.js'
import { emptyParameterBag, type ParameterBag } from '../http/form.js'
import { asPath } from '../lib/numeric-id.js'
import { decodePath, hasBytes, textOfRouter, urlForRouter, urlOfRouter } from '../lib/text/byte-path.js'
import { isReservedBelow, MAX_PATH_PARTS } from '../rules/path.js'
import type { Form, Page } from './page.js'

/** What is at an address. */
interface Place {
  page: Page | undefined
  /** By method. */
  forms: Map<string, Form>
}

/** Whether the forms at an address are open while the service is read-only, which is asked before their method is known. */
export function areOpenWhenReadOnly(at: string, { forms }: Pick<Place, 'forms'>): boolean {
  const answers = new Set([...forms.values()].map(({ openWhen }) => openWhen?.includes('read_only') ?? false))
  if (answers.size > 1) throw new Error(`The forms at ${at} do not agree about \`openWhen: ['read_only']\``)
  return answers.has(true)
}

/** A place below a project, a group or a user, as the router finds it. */
interface PlaceBelow extends Place {
  /** Reached without the `-` that its printed address has. */
  older: boolean
  /** How many slashes stand before the `*` of its address; null without one. */
  before: number | null
}

interface Found {
  page: Page | undefined
  forms: Map<string, Form>
  params: ParameterBag
  /** The address that the page has now, if it was asked for at another one. */
  to: string | null
}

/** What an address is below: a project, a group or a user. */
type Kind = 'P' | 'G' | 'U'
const KINDS = { project: 'P', group: 'G', user: 'U' } as const

const ROUTER = { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 4_096 }
/** Finds the page or form of a path (WB-2). */
export class Paths {
  /** Places whose address is fixed but for parameters of one part. */
  readonly fixed = new Map<string, Place>()
  /** The pages at fixed addresses that were at others. */
  readonly moved: readonly Page[]
  /** Of what is below a path, by the kind of its owner and the rest of the address: `/P/-/tree/*`. */
  readonly #below = findMyWay(ROUTER)

  constructor(pages: readonly Page[], forms: readonly Form[]) {
    const places = new Map<string, Place>()
    const placeAt = (at: string) => {
      const known = places.get(at) ?? { page: undefined, forms: new Map<string, Form>() }
      places.set(at, known)
      return known
    }
    for (const page of pages) placeAt(page.at).page = page
    for (const form of forms) placeAt(form.at).forms.set(form.method, form)
    for (const [at, place] of places) this.#add(at, place)
    this.moved = pages.filter(({ formerly }) => formerly)
    for (const { at } of this.moved) if (!at.startsWith('/')) throw new Error(`${at} is below a path, whose pages have no \`formerly\``)
  }

  #add(at: string, place: Place): void {
    if (at.startsWith('/')) {
      this.fixed.set(at, place)
      return
    }
    if (areOpenWhenReadOnly(at, place)) throw new Error(`${at} is below a path, whose forms are never open when the service is read-only`)
    const add = (pattern: string, older: boolean) => {
      const before = pattern.endsWith('*') ? pattern.slice(1).split('/').length - 1 : null
      this.#below.on('GET', `/${pattern}`, () => undefined, { ...place, older, before } satisfies PlaceBelow)
    }
    add(at, false)
    if (at.startsWith('/-/', 1)) add(at.charAt(0) + at.slice(3), true)
  }

  /** The place of a request below a project, a group or a user that the caller may see. */
  async find(ctx: Context, caller: Caller, request: FastifyRequest): Promise<Found | null> {
    const url = urlOfRouter(request.url)
    const [path = '/'] = url.split('?', 1)
    const reads = request.method !== 'POST'
    const owner = await ownerOf(ctx, caller, path, reads)
    if (!owner) return null
    const found = this.#below.find('GET', `/${owner.kind}${urlForRouter(owner.rest)}`)
    const place = found?.store as PlaceBelow | undefined
    if (!found || !place) return null
    const query = url.slice(path.length)
    const base = owner.kind === 'G' && owner.rest ? `/groups/${owner.fullPath}` : `/${owner.fullPath}`
    const present = () => base.split('/').map(encodeURIComponent).join('/') + (place.older ? '/-' : '') + owner.rest + query
    const to = reads && place.page && (place.older || owner.moved) ? present() : null
    const params = emptyParameterBag()
    for (const [name, value] of Object.entries(found.params)) if (name !== '*' && value !== undefined) params[name] = textOfRouter(value)
    // the router leaves `%2F` in it
    const rest = place.before === null ? undefined : decoded(owner.rest.split('/').slice(place.before).join('/'))
    if (rest === null) return null
    if (rest !== undefined) params['path'] = rest
    params['id'] = owner.kind === 'G' ? asPath(owner.fullPath) : owner.fullPath
    return { page: place.page, forms: place.forms, params, to }
  }
}

interface Owner {
  kind: Kind
  fullPath: string
  /** What follows the path of the owner, as it was sent, from the slash on. */
  rest: string
  /** It was named by another case than its own, or as the repository. */
  moved: boolean
}

/**
 * The project, group or user that a path is below; the longest that the caller may see, unless `/-/` says where its path
 * ends. The address of a repository is one of its project, and that of a wiki of the wiki.
 */
async function ownerOf(ctx: Context, caller: Caller, path: string, reads: boolean): Promise<Owner | null> {
  const inGroups = path.startsWith('/groups/')
  const bare = inGroups ? path.slice('/groups'.length) : path
  const dash = dashIn(bare)
  const [, repository, wiki] = (reads && dash < 0 && /^(.*?)(\.wiki)?\.git\/?$/s.exec(bare)) || []
  const decoded = decodedParts(repository ?? (dash < 0 ? bare : bare.slice(0, dash)))
  if (!decoded) return null
  if (dash >= 0) return { kind: inGroups ? 'G' : 'P', fullPath: decoded.join('/'), rest: bare.slice(dash), moved: false }
  const keys = decoded.slice(0, MAX_PATH_PARTS).map((_, i) =>
    decoded
      .slice(0, i + 1)
      .join('/')
      .toLowerCase(),
  )
  const found = await findPathOwner(ctx, caller, keys)
  if (!found || (inGroups && found.kind !== 'group')) return null
  const parts = found.fullPath.split('/').length
  if (repository !== undefined && parts === decoded.length)
    return { kind: KINDS[found.kind], fullPath: found.fullPath, rest: wiki ? '/-/wikis/home' : '', moved: true }
  const rest = bare
    .split('/')
    .filter(Boolean)
    .slice(parts)
    .map((part) => `/${part}`)
    .join('')
  return { kind: KINDS[found.kind], fullPath: found.fullPath, rest, moved: decoded.slice(0, parts).join('/') !== found.fullPath }
}

/** Where the path of the owner ends; -1 if it does not say so: what is after a name that no project can have is of a branch or file. */
function dashIn(path: string): number {
  const dash = path.indexOf('/-/')
  const parts = dash < 0 ? [] : path.slice(1, dash).split('/')
  return parts.slice(1).some(isReservedBelow) ? -1 : dash
}

/** Decodes a part of a URL; null if it is malformed or has a NUL. */
function decoded(text: string): string | null {
  const plain = decodePath(text)
  return plain?.includes('\0') ? null : plain
}

function decodedParts(path: string): string[] | null {
  const parts = path.split('/').filter(Boolean).map(decoded)
  return parts.length > 0 && parts.every((part) => part !== null && !part.includes('/') && !hasBytes(part)) ? (parts as string[]) : null
}
