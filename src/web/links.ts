import { fullPathOf, type GroupSubject, type ProjectSubject } from '../access/rules.js'
import { encodePath } from '../lib/text/byte-path.js'
import { tagInAddress } from '../rules/path.js'
import type { PageView } from './page.js'

/** A path of a repository, in a URL. */
export const inUrl = (path: string): string => path.split('/').map(encodePath).join('/')

/** The address of a project or group, without the prefix of the service. */
export const homeOfProject = ({ project }: Pick<ProjectSubject, 'project'>) => `/${inUrl(fullPathOf(project))}`
export const homeOfGroup = ({ group }: Pick<GroupSubject, 'group'>) => `/groups/${inUrl(group.full_path)}`

/** Addresses below a group. */
export function groupLinks({ links }: Pick<PageView, 'links'>, fullPath: string) {
  const home = `${links.prefix}/groups/${inUrl(fullPath)}`
  return { home, page: (page: string) => `${home}/-/${page}` }
}

/** Addresses below a project. */
export function projectLinks({ links }: Pick<PageView, 'links'>, fullPath: string) {
  const base = `${links.prefix}/${inUrl(fullPath)}`
  const at = (page: string, ref: string, path = '') => `${base}/-/${page}/${inUrl(ref)}${path === '' ? '' : `/${inUrl(path)}`}`
  return {
    home: base,
    page: (page: string) => `${base}/-/${page}`,
    tree: (ref: string, path?: string) => at('tree', ref, path),
    blob: (ref: string, path: string) => at('blob', ref, path),
    raw: (ref: string, path: string) => at('raw', ref, path),
    blame: (ref: string, path: string) => at('blame', ref, path),
    edit: (ref: string, path: string) => at('edit', ref, path),
    newFile: (ref: string, path?: string) => at('new', ref, path),
    replace: (ref: string, path: string) => at('replace', ref, path),
    rename: (ref: string, path: string) => at('rename', ref, path),
    remove: (ref: string, path: string) => at('delete', ref, path),
    upload: (ref: string, path?: string) => at('upload', ref, path),
    commits: (ref: string, path?: string) => at('commits', ref, path),
    findFile: (ref: string) => at('find_file', ref),
    tag: (name: string) => at('tags', tagInAddress(name)),
    release: (tag: string) => `${base}/-/releases/${encodeURIComponent(tagInAddress(tag))}`,
    commit: (oid: string) => `${base}/-/commit/${oid}`,
    archive: (ref: string, name: string) => `${base}/-/archive/${inUrl(ref)}/${encodeURIComponent(name)}`,
  }
}

export type ProjectLinks = ReturnType<typeof projectLinks>

/** The query of the address, with its question mark. */
export const queryOf = ({ address }: PageView): string => (address.includes('?') ? address.slice(address.indexOf('?')) : '')

/** The list of what the viewer has deleted and may restore. */
export const DELETED_PROJECTS = '/dashboard/projects/removed'
