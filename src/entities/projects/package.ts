import { z } from 'zod'
import type { View } from '../../http/view.js'
import { PACKAGE_TYPES } from '../../rules/packages/types.js'
import type { PackageFile as FileRecord } from '../../services/packages/files.js'
import type { PackageDetails, PackageRecord } from '../../services/packages/packages.js'
import { PipelineBasic, presentPipelineBasic } from '../ci/pipeline.js'

export const PackageItem = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    version: z.string().nullable(),
    package_type: z.enum(PACKAGE_TYPES),
    status: z.enum(['default', 'hidden']),
    _links: z.strictObject({ web_path: z.string(), delete_api_path: z.url().optional() }),
    created_at: z.iso.datetime(),
    tags: z.array(z.string()),
    pipeline: PipelineBasic.optional().describe('The pipeline of the job that published it, for callers who may see it.'),
  })
  .meta({ id: 'Package', description: 'One version of a package.' })

export const PackageOfGroup = z
  .strictObject({ ...PackageItem.omit({ pipeline: true }).shape, project_id: z.int(), project_path: z.string() })
  .meta({ id: 'GroupPackage', description: 'A package, with its project.' })

const PackageVersion = z
  .strictObject({
    id: z.int(),
    version: z.string().nullable(),
    created_at: z.iso.datetime(),
    tags: z.array(z.string()),
    pipeline: PipelineBasic.optional(),
  })
  .meta({ id: 'PackageVersion', description: 'Another version of a package.' })

export const PackageDetail = z
  .strictObject({ ...PackageItem.shape, versions: z.array(PackageVersion).describe('The newest 100 others.') })
  .meta({ id: 'PackageDetail', description: 'One version of a package, with the others.' })

export const PackageFile = z
  .strictObject({
    id: z.int(),
    package_id: z.int(),
    created_at: z.iso.datetime(),
    file_name: z.string(),
    size: z.int(),
    file_md5: z.string().nullable(),
    file_sha1: z.string().nullable(),
    file_sha256: z.string(),
  })
  .meta({ id: 'PackageFile', description: 'A file of a package.' })

const presentVersion = ({ id, version, created_at, tags, pipeline, project }: PackageRecord, view: View) => ({
  id,
  version: version || null,
  created_at: created_at.toISOString(),
  tags,
  ...(pipeline && { pipeline: presentPipelineBasic(pipeline, project, view) }),
})

export function presentPackage(record: PackageRecord, deletes: boolean, view: View): z.infer<typeof PackageItem> {
  const { id, name, type, status, project } = record
  const { pathname } = new URL(view.links.project(project.fullPath))
  const delete_api_path = `${view.links.base}/api/v4/projects/${project.id}/packages/${id}`
  return Object.assign(presentVersion(record, view), {
    name,
    package_type: type,
    status,
    _links: { web_path: `${pathname}/-/packages/${id}`, ...(deletes && { delete_api_path }) },
  })
}

export function presentGroupPackage(record: PackageRecord, view: View): z.infer<typeof PackageOfGroup> {
  const { id, fullPath } = record.project
  return Object.assign(presentPackage(record, false, view), { project_id: id, project_path: fullPath })
}

export const presentPackageDetail = (record: PackageDetails, deletes: boolean, view: View): z.infer<typeof PackageDetail> =>
  Object.assign(presentPackage(record, deletes, view), { versions: record.versions.map((other) => presentVersion(other, view)) })

export const presentPackageFile = ({ id, package_id, created_at, file_name, size, md5, sha1, oid }: FileRecord): z.infer<typeof PackageFile> => ({
  id,
  package_id,
  created_at: created_at.toISOString(),
  file_name,
  size,
  file_md5: md5,
  file_sha1: sha1,
  file_sha256: oid,
})
