import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type AdminSubject, adminOnGroup, adminOnProject, adminOnUser } from '../../access/rules.js'
import { CustomAttribute } from '../../entities/custom-attribute.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { documentedWith, paging, str } from '../../http/params.js'
import { shownAs } from '../../http/wire.js'
import {
  type AttributeSource,
  deleteCustomAttribute,
  getCustomAttribute,
  listCustomAttributes,
  setCustomAttribute,
} from '../../services/core/custom-attributes.js'
import { slice } from '../../services/core/page.js'

const attributesOf = (prefix: string, kind: AttributeSource['kind'], access: Access<AdminSubject, true>) => [
  endpoint({
    method: 'GET',
    path: `${prefix}/custom_attributes`,
    summary: `List the custom attributes of a ${kind}`,
    access,
    input: z.object(paging),
    output: z.array(CustomAttribute),
    handler: async ({ ctx, subject, input }) =>
      pageOf(slice(await listCustomAttributes(ctx, { kind, ...subject }), input), input, (attribute) => attribute),
  }),
  endpoint({
    method: 'GET',
    path: `${prefix}/custom_attributes/:key`,
    summary: `Get a custom attribute of a ${kind}`,
    access,
    input: z.object({ key: z.string() }),
    output: CustomAttribute,
    handler: ({ ctx, subject, input }) => getCustomAttribute(ctx, { kind, ...subject }, input.key),
  }),
  endpoint({
    method: 'PUT',
    path: `${prefix}/custom_attributes/:key`,
    summary: `Set a custom attribute of a ${kind}`,
    access,
    input: z.object({ key: shownAs(z.string(), { type: 'string', maxLength: 255 }), value: documentedWith(str(), { minLength: 1 }) }),
    output: CustomAttribute,
    handler: ({ ctx, subject, input }) => setCustomAttribute(ctx, { kind, ...subject }, input),
  }),
  endpoint({
    method: 'DELETE',
    path: `${prefix}/custom_attributes/:key`,
    summary: `Delete a custom attribute of a ${kind}`,
    access,
    input: z.object({ key: z.string() }),
    handler: ({ ctx, subject, input }) => deleteCustomAttribute(ctx, { kind, ...subject }, input.key),
  }),
]

/** Custom attributes (CA-1 to CA-4). */
export const customAttributes = [
  ...attributesOf('/users/:id(^\\d+$)', 'user', adminOnUser),
  ...attributesOf('/groups/:id', 'group', adminOnGroup),
  ...attributesOf('/projects/:id', 'project', adminOnProject),
]
