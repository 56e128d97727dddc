import { z } from 'zod'
import type { View } from '../../http/view.js'
import { digestOf } from '../../rules/registry/names.js'
import type { RepositoryRecord, TagRecord } from '../../services/registry/repositories.js'

export const ContainerTag = z
  .strictObject({ name: z.string(), path: z.string(), location: z.string() })
  .meta({ id: 'ContainerTag', description: 'A tag of a repository of images.' })

export const ContainerTagDetail = z
  .strictObject({
    ...ContainerTag.shape,
    revision: z.string().nullable().describe('The SHA-256 of the configuration; null for an index.'),
    short_revision: z.string().nullable(),
    digest: z.string(),
    created_at: z.iso.datetime(),
    total_size: z.int().describe('Bytes of the configuration and layers.'),
  })
  .meta({ id: 'ContainerTagDetail', description: 'A tag of a repository of images, with what it is of.' })

export const ContainerRepository = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    path: z.string(),
    project_id: z.int(),
    location: z.string(),
    created_at: z.iso.datetime(),
    cleanup_policy_started_at: z.null(),
    tags_count: z.int().optional(),
    tags: z.array(ContainerTag).optional().describe('The first 100.'),
  })
  .meta({ id: 'ContainerRepository', description: 'A repository of container images.' })

/** The path of a repository, as clients of the registry name it. */
export const containerPath = ({ fullPath, name }: Pick<RepositoryRecord, 'fullPath' | 'name'>) => `${fullPath.toLowerCase()}${name && `/${name}`}`

/** The same with the host of the registry. */
export const containerLocation = (view: Pick<View, 'links'>, repository: Pick<RepositoryRecord, 'fullPath' | 'name'>) =>
  `${view.links.registry}/${containerPath(repository)}`

const namesOf = (repository: RepositoryRecord, name: string, view: Pick<View, 'links'>) => ({
  name,
  path: `${containerPath(repository)}:${name}`,
  location: `${containerLocation(view, repository)}:${name}`,
})

export const presentContainerRepository = (
  repository: RepositoryRecord,
  view: Pick<View, 'links'>,
  { tags, tags_count }: { tags?: string[] | undefined; tags_count?: boolean | undefined },
): z.infer<typeof ContainerRepository> => ({
  id: repository.id,
  name: repository.name,
  path: containerPath(repository),
  project_id: repository.project_id,
  location: containerLocation(view, repository),
  created_at: repository.created_at.toISOString(),
  cleanup_policy_started_at: null,
  ...(tags_count && { tags_count: repository.tags_count }),
  ...(tags && { tags: tags.map((name) => namesOf(repository, name, view)) }),
})

export const presentContainerTag = (repository: RepositoryRecord, { name }: TagRecord, view: Pick<View, 'links'>): z.infer<typeof ContainerTag> =>
  namesOf(repository, name, view)

export const presentContainerTagDetail = (
  repository: RepositoryRecord,
  { name, created_at, manifest: { oid, config, total_size } }: TagRecord,
  view: Pick<View, 'links'>,
): z.infer<typeof ContainerTagDetail> => ({
  ...namesOf(repository, name, view),
  revision: config,
  short_revision: config?.slice(0, 9) ?? null,
  digest: digestOf(oid),
  created_at: created_at.toISOString(),
  total_size,
})
