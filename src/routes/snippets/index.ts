import { z } from 'zod'
import { admin, anyone, onProjectSignedIn, signedIn } from '../../access/rules.js'
import { presentSnippet, Snippet } from '../../entities/content/snippet.js'
import * as documented from '../../http/documented.js'
import { Answer, endpoint, pageOf } from '../../http/endpoint.js'
import { clearable, datetime, documentedWith, idPaging, list, needsOneOf, oneOf, opt, paging, rowId, shownCondition, str } from '../../http/params.js'
import { shownWith } from '../../http/wire.js'
import { VISIBILITIES } from '../../rules/visibility.js'
import {
  createSnippet,
  deleteSnippet,
  getProjectSnippet,
  getSnippet,
  listAllSnippets,
  listOwnSnippets,
  listProjectSnippets,
  listPublicSnippets,
  requireOwner,
  requireProjectEditor,
  type SnippetRecord,
  updateSnippet,
} from '../../services/content/snippets.js'

/** Content that is not empty. */
const text = () => documentedWith(str(), { minLength: 1 })

const file = (actions: string[], required: string[]) =>
  shownWith(
    z.object({
      action: opt(documentedWith(str(), { enum: actions })),
      file_path: opt(documented.title()),
      previous_path: opt(str()),
      content: opt(text()),
    }),
    { required },
  )
const files = (only: ReturnType<typeof file>) => opt(documentedWith(list(only), { minItems: 1, maxItems: 1 }))
const changeable = {
  title: opt(documented.title()),
  file_name: opt(documented.short()),
  content: opt(text()),
  code: opt(text()),
  description: opt(clearable()),
  visibility: opt(oneOf(VISIBILITIES)),
  files: files(file(['update', 'move'], ['file_path'])),
}
/** Where the name and the content of a new snippet may be given (SN-4). */
const creation = <T extends z.ZodObject>(input: T) =>
  shownCondition(input, { anyOf: [['file_name', 'content'], ['file_name', 'code'], ['files']].map((required) => ({ required })) })
const newSnippet = { ...changeable, title: documented.title(), files: files(file(['create'], ['file_path', 'content'])) }
const names = Object.keys(changeable) as (keyof typeof changeable)[]
const personal = { id: rowId() }
const inProject = { snippet_id: rowId() }
const raw = ({ snippet }: SnippetRecord) => new Answer(200, Buffer.from(snippet.content), { 'content-type': 'text/plain; charset=utf-8' })

/** Snippets (SN-1 to SN-12). */
export const snippets = [
  endpoint({
    method: 'GET',
    path: '/snippets',
    summary: "List the caller's personal snippets",
    access: signedIn,
    input: z.object(paging),
    output: z.array(Snippet),
    handler: async ({ ctx, caller, input, view }) => pageOf(await listOwnSnippets(ctx, caller, input), input, (item) => presentSnippet(item, view)),
  }),
  endpoint({
    method: 'GET',
    path: '/snippets/public',
    summary: 'List all public personal snippets',
    access: signedIn,
    input: z.object(paging),
    output: z.array(Snippet),
    handler: async ({ ctx, caller, input, view }) =>
      pageOf(await listPublicSnippets(ctx, caller, input), input, (item) => presentSnippet(item, view)),
  }),
  endpoint({
    method: 'GET',
    path: '/snippets/all',
    summary: 'List all snippets, also those of projects; administrators only',
    access: admin,
    input: z.object({ created_after: opt(datetime()), created_before: opt(datetime()), ...paging }),
    output: z.array(Snippet),
    handler: async ({ ctx, caller, input, view }) => pageOf(await listAllSnippets(ctx, caller, input), input, (item) => presentSnippet(item, view)),
  }),
  endpoint({
    method: 'GET',
    path: '/snippets/:id',
    summary: 'Get a personal snippet',
    access: anyone,
    input: z.object(personal),
    output: Snippet,
    handler: async ({ ctx, caller, input, view }) => presentSnippet(await getSnippet(ctx, caller, input.id), view),
  }),
  endpoint({
    method: 'GET',
    path: '/snippets/:id/raw',
    summary: 'Get the raw content of a personal snippet',
    raw: ['text/plain'],
    access: anyone,
    input: z.object(personal),
    handler: async ({ ctx, caller, input }) => raw(await getSnippet(ctx, caller, input.id)),
  }),
  endpoint({
    method: 'POST',
    path: '/snippets',
    summary: 'Create a personal snippet',
    access: signedIn,
    input: creation(z.object(newSnippet)),
    output: Snippet,
    async handler({ ctx, caller, input, view }) {
      const id = await createSnippet(ctx, caller, null, input)
      return presentSnippet(await getSnippet(ctx, caller, id), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/snippets/:id',
    summary: 'Update a personal snippet',
    access: signedIn,
    input: needsOneOf(z.object({ ...personal, ...changeable }), ...names),
    output: Snippet,
    async handler({ ctx, caller, input, view }) {
      const found = await getSnippet(ctx, caller, input.id)
      requireOwner(caller, found)
      await updateSnippet(ctx, caller, found, input)
      return presentSnippet(await getSnippet(ctx, caller, input.id), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/snippets/:id',
    summary: 'Delete a personal snippet',
    answers: [412],
    access: signedIn,
    input: z.object(personal),
    async handler({ ctx, caller, input, unchangedSince }) {
      const found = await getSnippet(ctx, caller, input.id)
      requireOwner(caller, found)
      unchangedSince(found.snippet.updated_at)
      await deleteSnippet(ctx, found)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/snippets',
    summary: 'List the snippets of a project',
    access: onProjectSignedIn('read_snippet'),
    input: z.object(idPaging),
    output: z.array(Snippet),
    async handler({ ctx, caller, subject, input, view }) {
      return pageOf(await listProjectSnippets(ctx, subject, caller, input), input, (item) => presentSnippet(item, view)).inOrderOfIds(input)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/snippets/:snippet_id',
    summary: 'Get a snippet of a project',
    access: onProjectSignedIn('read_snippet'),
    input: z.object(inProject),
    output: Snippet,
    async handler({ ctx, caller, subject, input, view }) {
      return presentSnippet(await getProjectSnippet(ctx, subject, caller, input.snippet_id), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/snippets/:snippet_id/raw',
    summary: 'Get the raw content of a snippet of a project',
    raw: ['text/plain'],
    access: onProjectSignedIn('read_snippet'),
    input: z.object(inProject),
    handler: async ({ ctx, caller, subject, input }) => raw(await getProjectSnippet(ctx, subject, caller, input.snippet_id)),
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/snippets',
    summary: 'Create a snippet in a project',
    access: onProjectSignedIn('create_snippet'),
    input: creation(z.object({ ...newSnippet, visibility: oneOf(VISIBILITIES) })),
    output: Snippet,
    async handler({ ctx, caller, subject, input, view }) {
      const id = await createSnippet(ctx, caller, subject, input)
      return presentSnippet(await getProjectSnippet(ctx, subject, caller, id), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/snippets/:snippet_id',
    summary: 'Update a snippet of a project',
    access: onProjectSignedIn('read_snippet'),
    input: needsOneOf(z.object({ ...inProject, ...changeable }), ...names),
    output: Snippet,
    async handler({ ctx, caller, subject, input, view }) {
      const found = await getProjectSnippet(ctx, subject, caller, input.snippet_id)
      requireProjectEditor(subject, caller, found)
      await updateSnippet(ctx, caller, found, input)
      return presentSnippet(await getProjectSnippet(ctx, subject, caller, input.snippet_id), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/snippets/:snippet_id',
    summary: 'Delete a snippet of a project',
    answers: [412],
    access: onProjectSignedIn('read_snippet'),
    input: z.object(inProject),
    async handler({ ctx, caller, subject, input, unchangedSince }) {
      const found = await getProjectSnippet(ctx, subject, caller, input.snippet_id)
      requireProjectEditor(subject, caller, found)
      unchangedSince(found.snippet.updated_at)
      await deleteSnippet(ctx, found)
    },
  }),
]
