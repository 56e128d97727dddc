import type { Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { Failure, forbidden, notFound } from '../../failures.js'
import type { Oid, TreeEntry } from '../../git/types.js'
import { repositoryOf } from '../repository/repositories.js'
import { type PackageCaller, packageProject } from './caller.js'

const TAGS = 'refs/tags/'
/** What `go` takes of a module (PK-51). */
const MAX_MODULE = 500 * 1_048_576
const MAX_TEXT = 16 * 1_048_576
const MAX_FILES = 50_000

const VERSION = /^v(\d{1,15})\.\d{1,15}\.\d{1,15}(?:-[0-9A-Za-z.-]{1,100})?$/

/** A module of a repository. */
export interface GoModule {
  subject: ProjectSubject
  path: string
  /** The folder that tags are named after; empty for the root. */
  folder: string
  /** The number that the path ends with, for version 2 and up. */
  major: number | null
}

/** One version of a module. */
export interface GoVersion {
  name: string
  commit: Oid
  time: string
}

/** A path as `go` writes it, with `!a` for `A`; null if it is none. */
const unescaped = (path: string) => (/[A-Z]|!(?![a-z])/.test(path) ? null : path.replace(/!([a-z])/g, (_, letter: string) => letter.toUpperCase()))

/** The module that a path names, in a project whose code and packages the caller may read; 404 if it is of another place (PK-50). */
export async function goModule(ctx: Context, who: PackageCaller, project: string, escaped: string): Promise<GoModule> {
  const subject = await packageProject(ctx, who, project, 'read_package')
  // what is sent is code, which a token of the package registry alone does not open
  if (!subject.can('download_code') || (who.deploy && !who.deploy.scopes.includes('read_repository'))) throw forbidden()
  const path = unescaped(escaped)
  const { hostname, pathname } = new URL(ctx.links.project(fullPathOf(subject.project)))
  const root = `${hostname}${pathname}`
  if (path === null || (path !== root && !path.startsWith(`${root}/`))) throw notFound('Module')
  const [, folder = '', digits] = /^(.*?)(?:\/v([2-9]|[1-9]\d{1,14}))?$/.exec(path.slice(root.length)) ?? []
  return { subject, path, folder: folder.slice(1), major: digits === undefined ? null : Number(digits) }
}

const prefixOf = ({ folder }: GoModule) => `${TAGS}${folder && `${folder}/`}`

/** Whether a version may be one of this module: its first number is that of the path. */
function isVersionOf({ major }: GoModule, version: string): boolean {
  const number = Number(VERSION.exec(version)?.[1] ?? Number.NaN)
  return major === null ? number < 2 : number === major
}

/** The versions that tags name (PK-50). */
export async function goVersions(ctx: Context, module: GoModule): Promise<string[]> {
  const prefix = prefixOf(module)
  const refs = await repositoryOf(ctx, module.subject.project).refs(prefix)
  return ctx.cpu.slices.run(() => refs.map(({ name }) => name.slice(prefix.length)).filter((version) => isVersionOf(module, version)))
}

/** One version by its name; 404 if no tag has it. */
export async function goVersion(ctx: Context, module: GoModule, escaped: string): Promise<GoVersion> {
  const name = unescaped(escaped)
  const repository = repositoryOf(ctx, module.subject.project)
  const oid = name !== null && isVersionOf(module, name) ? await repository.ref(prefixOf(module) + name) : null
  const resolved = oid && (await repository.resolve(oid))
  const commit = resolved && (await repository.commit(resolved.commit))
  if (!name || !commit) throw notFound('Version')
  return { name, commit: commit.oid, time: new Date(commit.committer.seconds * 1_000).toISOString().replace('.000Z', 'Z') }
}

/** Where the files of a version are, with the text of its `go.mod`; 404 if that is of another module. */
async function contentOf(ctx: Context, module: GoModule, { commit }: GoVersion): Promise<{ folder: string; mod: string }> {
  const repository = repositoryOf(ctx, module.subject.project)
  const read = async (folder: string) => {
    const entry = await repository.entry(commit, [folder, 'go.mod'].filter(Boolean).join('/'))
    const info = entry?.type === 'blob' ? await repository.objectInfo(entry.oid) : null
    if (!entry || !info) return null
    if (info.size > MAX_TEXT) throw notFound('Module')
    return (await repository.blob(entry.oid))?.toString('utf8') ?? null
  }
  const { folder, major, path } = module
  // a version from 2 on may have a folder of its own
  for (const each of major === null ? [folder] : [[folder, `v${major}`].filter(Boolean).join('/'), folder]) {
    const mod = await read(each)
    if (mod !== null && /^[ \t]*module[ \t]+["`]?([^\s"`]+)/m.exec(mod)?.[1] === path) return { folder: each, mod }
    if (mod === null && major === null && folder === '') return { folder: '', mod: `module ${path}\n` }
  }
  throw notFound('Module')
}

export const goMod = async (ctx: Context, module: GoModule, version: GoVersion): Promise<string> => (await contentOf(ctx, module, version)).mod

/** The files that belong to a module: regular ones, without those of modules below it and of packages that it has copied (PK-51). */
function filesOf(entries: TreeEntry[], folder: string, goVersion: number): { entry: TreeEntry; path: string }[] {
  const start = folder === '' ? 0 : folder.length + 1
  const files = entries
    .filter(({ type, mode, bytePath }) => type === 'blob' && mode !== '120000' && bytePath === undefined)
    .map((entry) => ({ entry, path: entry.path.slice(start) }))
  const below = new Set(files.flatMap(({ path }) => (path.endsWith('/go.mod') ? [path.slice(0, -'/go.mod'.length)] : [])))
  const isBelow = (path: string) => {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) if (below.has(path.slice(0, at))) return true
    return false
  }
  return files.filter(({ path }) => !isBelow(path) && !isCopied(path, goVersion))
}

/** Whether a file is of a copied package, as `go` decides it since its version 1.24 and did before, so that checksums stay. */
function isCopied(path: string, goVersion: number): boolean {
  if (goVersion >= 1_024 && path === 'vendor/modules.txt') return true
  if (path.startsWith('vendor/')) return path.indexOf('/', 'vendor/'.length) >= 0
  const at = path.indexOf('/vendor/')
  return at >= 0 && path.indexOf('/', (goVersion >= 1_024 ? at : 0) + '/vendor/'.length) >= 0
}

/** The version of the language that a `go.mod` names, as a number that can be compared: 1.24 is 1,024. */
function languageOf(mod: string): number {
  const [, major = '0', minor = '0'] = /^go\s+(\d{1,3})\.(\d{1,3})/m.exec(mod) ?? []
  return Number(major) * 1_000 + Number(minor)
}

/** The archive of a version, made as it is read (PK-51). */
export async function goZip(ctx: Context, module: GoModule, version: GoVersion, signal: AbortSignal): Promise<Readable> {
  const repository = repositoryOf(ctx, module.subject.project)
  const { folder, mod } = await contentOf(ctx, module, version)
  const entries = (await repository.tree(version.commit, folder, { recursive: true })) ?? []
  const files = await ctx.cpu.slices.run(() => filesOf(entries, folder, languageOf(mod)))
  if (folder !== '' && !files.some(({ path }) => path === 'LICENSE')) {
    const license = await repository.entry(version.commit, 'LICENSE')
    if (license?.type === 'blob' && license.mode !== '120000') files.push({ entry: license, path: 'LICENSE' })
  }
  const sizes = new Map<string, number>()
  const isWhole = await repository.fileSizes(version.commit, (path, size) => void sizes.set(path, size))
  const total = files.reduce((sum, { entry }) => sum + (sizes.get(entry.path) ?? 0), 0)
  if (!isWhole || files.length > MAX_FILES || total > MAX_MODULE)
    throw new Failure('too_large', { message: '413 Request Entity Too Large - the module is too large' })
  const zip = new ZipFile()
  const out = zip.outputStream as Readable
  zip.on('error', (error: Error) => out.destroy(error))
  for (const { entry, path } of files)
    zip.addReadStreamLazy(`${module.path}@${version.name}/${path}`, { mtime: new Date(version.time) }, (done) => {
      repository.blobStream(entry.oid, signal).then(
        (found) => (found ? done(null, found.stream) : done(new Error('an object of a module is missing'), undefined as never)),
        (error: Error) => done(error, undefined as never),
      )
    })
  zip.end()
  return out
}
