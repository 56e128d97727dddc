import { z } from 'zod'
import { onProject, onProjectSignedIn } from '../../access/rules.js'
import {
  presentWikiAttachment,
  presentWikiPage,
  presentWikiPageBasic,
  WikiAttachment,
  WikiPage,
  WikiPageBasic,
} from '../../entities/content/wiki-page.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, file, needsOneOf, oneOf, opt, orDefault, paging, str } from '../../http/params.js'
import { FORMATS } from '../../rules/wiki-page.js'
import { attachToWiki } from '../../services/content/wiki-attachments.js'
import { createWikiPage, deleteWikiPage, getWikiPage, listWikiPages, updateWikiPage } from '../../services/content/wikis.js'

const path = '/projects/:id/wikis'
const named = { slug: z.string() }

/** Wikis (WK-1 to WK-6). */
export const wikis = [
  endpoint({
    method: 'GET',
    path,
    summary: 'List wiki pages',
    access: onProject('read_wiki'),
    input: z.object({ with_content: orDefault(bool(), false), ...paging }),
    output: z.array(z.union([WikiPage, WikiPageBasic])),
    async handler({ ctx, subject, input }) {
      return pageOf(await listWikiPages(ctx, subject, input), input, (page) =>
        page.content === null ? presentWikiPageBasic(page) : presentWikiPage({ ...page, content: page.content }),
      )
    },
  }),
  endpoint({
    method: 'GET',
    path: `${path}/:slug`,
    summary: 'Get a wiki page',
    access: onProject('read_wiki'),
    input: z.object({ ...named, version: opt(str()) }),
    output: WikiPage,
    handler: async ({ ctx, subject, input }) => presentWikiPage(await getWikiPage(ctx, subject, input.slug, input.version)),
  }),
  endpoint({
    method: 'POST',
    path,
    summary: 'Create a wiki page',
    access: onProjectSignedIn('write_wiki'),
    input: z.object({ title: documented.wikiTitle(), content: str(), format: orDefault(oneOf(FORMATS), 'markdown'), message: opt(str()) }),
    output: WikiPage,
    handler: async ({ ctx, caller, subject, input }) => presentWikiPage(await createWikiPage(ctx, subject, caller, input)),
  }),
  endpoint({
    method: 'POST',
    path: `${path}/attachments`,
    summary: 'Add a file to a wiki',
    description: 'The answer has the Markdown that shows it on a page, or links to it.',
    access: onProjectSignedIn('write_wiki'),
    input: z.object({ file: file(), branch: opt(str()) }),
    output: WikiAttachment,
    largeBody: true,
    handler: async ({ ctx, caller, subject, input }) => presentWikiAttachment(await attachToWiki(ctx, subject, caller, input)),
  }),
  endpoint({
    method: 'PUT',
    path: `${path}/:slug`,
    summary: 'Update a wiki page',
    access: onProjectSignedIn('write_wiki'),
    input: needsOneOf(
      z.object({ ...named, title: opt(documented.wikiTitle()), content: opt(str()), format: opt(oneOf(FORMATS)), message: opt(str()) }),
      'title',
      'content',
      'format',
    ),
    output: WikiPage,
    handler: async ({ ctx, caller, subject, input }) => presentWikiPage(await updateWikiPage(ctx, subject, caller, input.slug, input)),
  }),
  endpoint({
    method: 'DELETE',
    path: `${path}/:slug`,
    summary: 'Delete a wiki page',
    access: onProjectSignedIn('delete_wiki_page'),
    input: z.object(named),
    handler: ({ ctx, caller, subject, input }) => deleteWikiPage(ctx, subject, caller, input.slug),
  }),
]
