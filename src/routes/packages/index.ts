import { z } from 'zod'
import { onGroup, onProject, onProjectSignedIn } from '../../access/rules.js'
import {
  PackageDetail,
  PackageFile,
  PackageItem,
  PackageOfGroup,
  presentGroupPackage,
  presentPackage,
  presentPackageDetail,
  presentPackageFile,
} from '../../entities/projects/package.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, oneOf, opt, orDefault, paging, rowId } from '../../http/params.js'
import {
  deletePackage,
  deletePackageFile,
  GROUP_ORDERS,
  getPackage,
  LISTED_STATUSES,
  LISTED_TYPES,
  listGroupPackages,
  listPackageFiles,
  listPackages,
  ORDERS,
} from '../../services/packages/packages.js'

const package_id = rowId()
const filters = {
  sort: orDefault(oneOf(['asc', 'desc']), 'asc'),
  package_type: opt(oneOf(LISTED_TYPES)),
  package_name: opt(documented.short()),
  package_version: opt(documented.short()),
  include_versionless: opt(bool()),
  status: opt(oneOf(LISTED_STATUSES)),
  ...paging,
}

/** Packages of projects and groups (PK-11 to PK-15). */
export const packages = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/packages',
    summary: 'List the packages of a project',
    description: 'One for each version.',
    access: onProject('read_package'),
    jobToken: true,
    input: z.object({ order_by: orDefault(oneOf(ORDERS), 'created_at'), ...filters }),
    output: z.array(PackageItem),
    handler: async ({ ctx, subject, input, view }) =>
      pageOf(await listPackages(ctx, subject, input), input, (item) => presentPackage(item, subject.can('destroy_package'), view)),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/packages',
    summary: 'List the packages of a group',
    description: 'Of the projects in it and in its subgroups that the caller may read packages of.',
    access: onGroup('read_group'),
    jobToken: true,
    input: z.object({ order_by: orDefault(oneOf(GROUP_ORDERS), 'created_at'), exclude_subgroups: opt(bool()), ...filters }),
    output: z.array(PackageOfGroup),
    handler: async ({ ctx, caller, subject, input, view }) =>
      pageOf(await listGroupPackages(ctx, caller, subject, input), input, (item) => presentGroupPackage(item, view)),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/packages/:package_id',
    summary: 'Get a package',
    access: onProject('read_package'),
    jobToken: true,
    input: z.object({ package_id }),
    output: PackageDetail,
    handler: async ({ ctx, subject, input, view }) =>
      presentPackageDetail(await getPackage(ctx, subject, input.package_id), subject.can('destroy_package'), view),
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/packages/:package_id/package_files',
    summary: 'List the files of a package',
    access: onProject('read_package'),
    jobToken: true,
    input: z.object({ package_id, ...paging }),
    output: z.array(PackageFile),
    handler: async ({ ctx, subject, input }) => pageOf(await listPackageFiles(ctx, subject, input.package_id, input), input, presentPackageFile),
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/packages/:package_id',
    summary: 'Delete a package',
    description: 'One version with its files.',
    access: onProjectSignedIn('destroy_package'),
    jobToken: true,
    input: z.object({ package_id }),
    handler: ({ ctx, subject, input }) => deletePackage(ctx, subject, input.package_id),
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/packages/:package_id/package_files/:package_file_id',
    summary: 'Delete a file of a package',
    access: onProjectSignedIn('destroy_package'),
    jobToken: true,
    input: z.object({ package_id, package_file_id: rowId() }),
    handler: ({ ctx, subject, input }) => deletePackageFile(ctx, subject, input.package_id, input.package_file_id),
  }),
]
