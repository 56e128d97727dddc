import { createHash, randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'

/** Lines of the file that suggestions change. */
const LINES = 1_000

const LFS_TYPE = 'application/vnd.git-lfs+json'

/**
 * A session of a browser, which reads pages and sends forms. `base` returns the present address of the service, and
 * `fetched` answers null if there was no complete response.
 */
export function browser(base, fetched) {
  const cookies = new Map()
  const ask = async (path, options = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetched(base() + path, { ...options, redirect: 'manual', headers: { accept: 'text/html', cookie } })
    for (const text of answer?.headers.getSetCookie() ?? []) cookies.set(...text.split(';', 1)[0].split('='))
    return answer
  }
  const attribute = (tag, name) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return {
    /** Sends the form of a page, with its hidden fields. Resolves with the address it leads to; null if it was not accepted. */
    async send(page, action, fields) {
      const shown = await ask(page)
      const form = shown?.body
        .toString()
        .split('<form ')
        .find((part) => attribute(` ${part}`, 'action') === action)
      if (!form) return null
      const hidden = [...form.split('</form>', 1)[0].matchAll(/<input [^>]*type="hidden"[^>]*>/g)]
      const sent = Object.fromEntries(hidden.map(([tag]) => [attribute(tag, 'name'), attribute(tag, 'value')]))
      const answer = await ask(action, { method: 'POST', body: new URLSearchParams({ ...sent, ...fields }) })
      const to = [302, 303].includes(answer?.status) ? answer.headers.get('location') : null
      return to?.includes('/users/sign_in') ? null : to
    },
  }
}

/** What the writes below need: a file of many lines in a merge request for suggestions, an issue, and a project to export. */
export async function prepareWrites({ call, project }) {
  const need = async (path, body) => {
    const answer = await call('POST', path, body)
    if (answer?.status !== 201) throw new Error(`${path}: ${answer?.status} ${JSON.stringify(answer?.body)}`)
    return answer.body
  }
  const at = `/projects/${project.id}`
  const commit = (branch, file_path, content) =>
    need(`${at}/repository/commits`, { branch, start_branch: 'main', commit_message: branch, actions: [{ action: 'create', file_path, content }] })
  await commit('pages', 'edited', 'start\n')
  await commit('suggested', 'suggested', 'line\n'.repeat(LINES))
  await need(`${at}/issues`, { title: 'An issue' })
  await need(`${at}/merge_requests`, { title: 'Suggested', source_branch: 'suggested', target_branch: 'main' })
  const { id } = await need('/projects', { name: 'exported', initialize_with_readme: true })
  await need(`/projects/${id}/issues`, { title: 'An issue' })
  return { exported: id }
}

/**
 * The kinds of writes: each makes one and resolves, once it is acknowledged, with what to check; otherwise with null. A
 * check resolves with what is lost or undone, or with null; `settled` is true when all work must have been done.
 */
export const WRITES = {
  /** The form of a new issue. */
  async issue({ person, page, read, at }, n) {
    const to = await person.send(`${page}/-/issues/new`, `${page}/-/issues`, { 'issue[title]': `issue ${n}` })
    const iid = /\/issues\/(\d+)/.exec(to)?.[1]
    if (!iid) return null
    return async () => {
      const { status, body } = await read(`${at}/issues/${iid}`)
      return status === 200 && body.title === `issue ${n}` ? null : `lost: issue ${iid} is ${status} ${body?.title}`
    }
  },

  /** The form of a comment. */
  async comment({ person, page, read, at }, n) {
    const to = await person.send(`${page}/-/issues/1`, `${page}/-/issues/1/notes`, { 'note[note]': `comment ${n}` })
    const id = /#note_(\d+)/.exec(to)?.[1]
    if (!id) return null
    return async () => {
      const { status, body } = await read(`${at}/issues/1/notes/${id}`)
      return status === 200 && body.body === `comment ${n}` ? null : `lost: comment ${id} is ${status} ${body?.body}`
    }
  },

  /** The form that edits a file, which adds a line. */
  async edit({ person, page, call, read, at }, n) {
    const path = `${at}/repository/files/edited?ref=pages`
    const contentOf = (answer) => Buffer.from(answer?.body?.content ?? '', 'base64').toString()
    const before = contentOf(await call('GET', path))
    if (before === '') return null
    const fields = { file_path: 'edited', content: `${before}edit ${n}\n`, commit_message: `edit ${n}`, branch_name: 'pages' }
    const to = await person.send(`${page}/-/edit/pages/edited`, `${page}/-/update/pages/edited`, fields)
    if (!to?.includes('/-/blob/')) return null
    return async () => (contentOf(await read(path)).includes(`edit ${n}\n`) ? null : `undone: edit ${n} of a file`)
  },

  /** The form of a new wiki page. */
  async wiki({ person, page, read, at }, n) {
    const to = await person.send(`${page}/-/wikis/new`, `${page}/-/wikis`, { 'wiki[title]': `page${n}`, 'wiki[content]': `text ${n}` })
    if (!to?.includes(`page${n}`)) return null
    return async () => {
      const { status, body } = await read(`${at}/wikis/page${n}`)
      return status === 200 && body.content === `text ${n}` ? null : `lost: wiki page ${n} is ${status}`
    }
  },

  /** A draft note that is published. */
  async review({ call, read, at }) {
    const word = `review${randomBytes(6).toString('hex')}`
    const drafts = `${at}/merge_requests/1/draft_notes`
    const draft = await call('POST', drafts, { note: word })
    if (draft?.status !== 201) return null
    const published = await call('PUT', `${drafts}/${draft.body.id}/publish`)
    const isPublished = published?.status === 204
    return async () => {
      const note = await read(`${at}/search?scope=notes&search=${word}`)
      const left = await read(`${drafts}/${draft.body.id}`)
      const [notes, waits] = [note.body?.length, left.status === 200]
      if (notes === (waits ? 0 : 1) && (waits ? !isPublished : true)) return null
      return `${isPublished && waits ? 'undone' : 'lost'}: a review has ${notes} notes, and its draft is ${left.status}`
    }
  },

  /** A suggestion that is applied. */
  async suggestion({ call, read, query, at }, n) {
    const request = await call('GET', `${at}/merge_requests/1`)
    const { diff_refs, sha } = request?.body ?? {}
    if (!sha || diff_refs?.head_sha !== sha) return null
    const position = { ...diff_refs, position_type: 'text', old_path: 'suggested', new_path: 'suggested', new_line: 1 + (n % LINES) }
    const body = `\`\`\`suggestion\nsuggestion ${n}\n\`\`\``
    const made = await call('POST', `${at}/merge_requests/1/discussions`, { body, position })
    if (made?.status !== 201) return null
    const rowOf = async () => (await query('select id, applied_at, commit_id from suggestions where note_id = $1', [made.body.notes[0].id]))[0]
    const { id } = await rowOf()
    if ((await call('PUT', `/suggestions/${id}/apply`))?.status !== 200) return null
    return async () => {
      const row = await rowOf()
      // a later suggestion may have replaced the line, but the commit stays
      const refs = await read(`${at}/repository/commits/${row?.commit_id}/refs?type=branch`)
      const isIn = refs.status === 200 && refs.body.some(({ name }) => name === 'suggested')
      return isIn && row.applied_at ? null : `undone: suggestion ${n}, applied at ${row?.applied_at}, commit ${row?.commit_id}`
    }
  },

  /** An export that is asked for, and whose archive can be downloaded in the end. */
  async export({ call, read, fetched, url, token, exported }) {
    const path = `/projects/${exported}/export`
    if ((await call('POST', path))?.status !== 202) return null
    return async (settled) => {
      for (const until = Date.now() + (settled ? 120_000 : 0); ; await new Promise((resolve) => setTimeout(resolve, 1_000))) {
        const { status, body } = await read(path)
        const state = body?.export_status
        if (status !== 200 || state === 'none') return `lost: an export is ${status} ${state}`
        if (state === 'finished') break
        if (!settled) return null
        if (Date.now() > until) return `undone: an export is still ${state}`
      }
      const archive = await fetched(`${url()}/api/v4${path}/download`, { headers: { 'private-token': token } })
      try {
        return archive?.status === 200 && gunzipSync(archive.body).length > 0 ? null : `lost: an archive is ${archive?.status}`
      } catch (error) {
        return `lost: an archive is broken: ${error.message}`
      }
    }
  },

  /** An object of Git LFS. */
  async lfs({ fetched, url, page, token }) {
    const bytes = randomBytes(50_000)
    const object = { oid: createHash('sha256').update(bytes).digest('hex'), size: bytes.length }
    const batch = async (operation) => {
      const answer = await fetched(`${url()}${page}.git/info/lfs/objects/batch`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`kill:${token}`).toString('base64')}`, accept: LFS_TYPE, 'content-type': LFS_TYPE },
        body: JSON.stringify({ operation, transfers: ['basic'], objects: [object] }),
      })
      return answer?.status === 200 ? JSON.parse(answer.body).objects[0].actions?.[operation] : undefined
    }
    const here = ({ href }) => url() + new URL(href).pathname
    const upload = await batch('upload')
    const sent = upload && (await fetched(here(upload), { method: 'PUT', headers: upload.header, body: bytes }))
    if (sent?.status !== 200) return null
    return async () => {
      const download = await batch('download')
      const got = download && (await fetched(here(download), { headers: download.header }))
      return got?.status === 200 && bytes.equals(got.body) ? null : `lost: an object of LFS is ${got?.status}`
    }
  },
}
